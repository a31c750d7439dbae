"""LLVM as a compiler: from the text of a module to object code, and from object code to a callable address."""

from __future__ import annotations

import platform
from functools import cache

import llvmlite.binding as llvm

from dmlcts.backends.directml.d3d12_software.shaders.errors import BadContainer

# Half-precision conversions that LLVM calls by name where the processor has no instruction for them.
_HALF_CALLS = """
define float @__extendhfsf2(half %h) noinline {
  %b = bitcast half %h to i16
  %w = zext i16 %b to i32
  %s = and i32 %w, 32768
  %sign = shl i32 %s, 16
  %m = and i32 %w, 32767
  %e = lshr i32 %m, 10
  %special = icmp eq i32 %e, 31
  %up = shl i32 %m, 13
  %normal = add i32 %up, 939524096
  %bigger = or i32 %up, 2139095040
  %small = icmp eq i32 %e, 0
  %f = uitofp i32 %m to float
  %scaled = fmul float %f, 0x3E70000000000000
  %sub = bitcast float %scaled to i32
  %r1 = select i1 %small, i32 %sub, i32 %normal
  %r2 = select i1 %special, i32 %bigger, i32 %r1
  %isnan = icmp ugt i32 %m, 31744
  %q = select i1 %isnan, i32 4194304, i32 0
  %r3 = or i32 %r2, %q
  %r4 = or i32 %r3, %sign
  %r = bitcast i32 %r4 to float
  ret float %r
}
define half @__truncsfhf2(float %f) noinline {
  %b = bitcast float %f to i32
  %s = lshr i32 %b, 16
  %sign = and i32 %s, 32768
  %m = and i32 %b, 2147483647
  %isnan = icmp ugt i32 %m, 2139095040
  %pay = lshr i32 %m, 13
  %pl = and i32 %pay, 1023
  %nan = or i32 %pl, 32256
  %tiny = icmp ult i32 %m, 947912704
  %mf = bitcast i32 %m to float
  %magic = fadd float %mf, 5.000000e-01
  %mb = bitcast float %magic to i32
  %sub = sub i32 %mb, 1056964608
  %o = lshr i32 %m, 13
  %odd = and i32 %o, 1
  %n1 = sub i32 %m, 939524096
  %n2 = add i32 %n1, 4095
  %n3 = add i32 %n2, %odd
  %norm = lshr i32 %n3, 13
  %big = icmp uge i32 %m, 1199570944
  %r1 = select i1 %tiny, i32 %sub, i32 %norm
  %r2 = select i1 %big, i32 31744, i32 %r1
  %r3 = select i1 %isnan, i32 %nan, i32 %r2
  %r4 = or i32 %r3, %sign
  %t = trunc i32 %r4 to i16
  %r = bitcast i16 %t to half
  ret half %r
}
"""


@cache
def processor() -> tuple[str, str]:
    """The processor of this machine and its features, as LLVM writes them."""
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


@cache
def _initialised() -> bool:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return True


def _machine() -> llvm.TargetMachine:
    _initialised()
    name, features = processor()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    return target.create_target_machine(cpu=name, features=features, opt=3, codemodel="jitdefault", jit=True)


def object_code(text: str) -> bytes:
    """Compile a module for this processor.

    Args:
        text: LLVM IR.

    Returns:
        A relocatable object in the system's format.
    """
    machine = _machine()
    return bytes(machine.emit_object(optimised(text, machine)))


def optimised(text: str, machine: llvm.TargetMachine) -> llvm.ModuleRef:
    """The module ready for code generation, its loop over the threads put into vectors where LLVM sees how."""
    features = processor()[1].split(",")
    if platform.machine() in ("x86_64", "AMD64", "i686") and "+f16c" not in features:
        text += _HALF_CALLS
    module = llvm.parse_assembly(text, llvm.create_context())
    module.triple = llvm.get_process_triple()
    module.data_layout = str(machine.target_data)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = True
    options.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return module


def in_values(text: str) -> str:
    """A module with values in place of the variables of its functions, and without blocks that nothing reaches.

    Raises:
        BadContainer: the module is not sound.
    """
    try:
        module = llvm.parse_assembly(text, llvm.create_context())
        module.verify()
    except RuntimeError as error:
        raise BadContainer(f"the shader makes no sense ({str(error).strip()})") from error
    builder = llvm.create_pass_builder(_machine(), llvm.create_pipeline_tuning_options(speed_level=1))
    passes = llvm.create_new_function_pass_manager()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    for function in module.functions:
        if not function.is_declaration:
            passes.run(function, builder)
    return str(module)


class Code:
    """Object code in memory, executable while this lives.

    Args:
        content: from :func:`object_code`.
    """

    def __init__(self, content: bytes) -> None:
        self._engine = llvm.create_mcjit_compiler(
            # In LLVM's own context, which is never freed: Python's collector may finalise a context of its own before
            # the engine with the module in it, and the engine then crashes.
            llvm.parse_assembly(""),
            _machine(),
        )
        self._engine.add_object_file(llvm.object_file.ObjectFileRef.from_data(content))
        self._engine.finalize_object()
        self.address = int(self._engine.get_function_address("kernel"))
