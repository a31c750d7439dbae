/* A runner over DirectML on Windows: it hands descriptions to the library as they come, and judges nothing itself.

       cl /std:c++17 /EHsc /O2 directml_runner.cpp dmlcts_runner.c d3d12.lib dxgi.lib DirectML.lib ws2_32.lib
       dmlcts run --backend exec:directml_runner.exe -o adapter=0

   Each dispatch uploads the whole memory, runs, and reads all of it back. */

#include "dmlcts_runner.h"

#include <DirectML.h>
#include <d3d12.h>
#include <dxgi1_6.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

/* COM, as little of it as is needed. */

struct Failed : std::runtime_error {
    HRESULT result;
    Failed(const char *what, HRESULT result) : std::runtime_error(what), result(result) {}
};

void check(const char *what, HRESULT result) {
    if (FAILED(result)) throw Failed(what, result);
}

template <typename Interface>
class Held {
public:
    Held() = default;
    ~Held() { drop(); }
    Held(const Held &) = delete;
    Held &operator=(const Held &) = delete;
    Interface *get() const { return at; }
    Interface *operator->() const { return at; }
    explicit operator bool() const { return at != nullptr; }
    Interface **put() {
        drop();
        return &at;
    }
    void drop() {
        if (at != nullptr) at->Release();
        at = nullptr;
    }

private:
    Interface *at = nullptr;
};

/* The members of the operators' structures, by their number: T a tensor, S a scale and bias, F a FLOAT, E an
   enumerator or a data type, N a scalar union, O an operator. The last tensor is the output. */
struct Members {
    uint32_t operator_type;
    const char *kinds;
};

const Members MEMBERS[] = {
    {1, "TTS"},     {2, "TTS"},     {3, "TTS"},    {4, "TTT"},    {5, "TTS"},    {6, "TTS"},    {7, "TTS"},
    {8, "TTSFF"},   {9, "TTS"},     {10, "TTT"},   {11, "TTS"},   {12, "TTS"},   {13, "TTS"},   {14, "TTT"},
    {15, "TTT"},    {16, "TTT"},    {17, "TTT"},   {18, "TT"},    {19, "TTT"},   {20, "TTT"},   {21, "TTT"},
    {22, "TTT"},    {23, "TTT"},    {24, "TTT"},   {25, "TTTS"},  {26, "TTSF"},  {27, "TTS"},   {28, "TTS"},
    {29, "TTS"},    {30, "TTT"},    {31, "TTS"},   {32, "TTSF"},  {33, "TTTT"},  {34, "TTTT"},  {79, "TT"},
    {80, "TT"},     {81, "TTS"},    {82, "TTS"},   {83, "TTS"},   {84, "TTS"},   {85, "TTS"},   {86, "TTS"},
    {87, "TTS"},    {88, "TTTT"},   {89, "TTTO"},  {97, "TTT"},   {98, "TTT"},   {99, "TTE"},   {100, "TTE"},
    {101, "TTT"},   {102, "TTT"},   {121, "TTT"},  {122, "TTT"},  {123, "TTT"},  {124, "TT"},   {125, "TT"},
    {126, "TTT"},   {127, "TTT"},   {141, "TTT"},  {142, "TTTFF"}, {143, "TTT"}, {147, "TTTTTTTTT"},
    {153, "TTSENN"}, {154, "TTTENN"}, {156, "TT"},
};

const char *members_of(uint32_t operator_type) {
    for (const Members &one : MEMBERS)
        if (one.operator_type == operator_type) return one.kinds;
    return nullptr;
}

/* A DML_OPERATOR_DESC with all that it points to: the structure is laid out by the rules of C from its members. */
class Description {
public:
    Description(const dmlcts_operator &operation, const char *kinds)
        : tensors(operation.tensor_count), buffers(operation.tensor_count), scale_biases(operation.attribute_count) {
        std::vector<size_t> places;
        size_t size = 0;
        for (const char *kind = kinds; *kind != 0; kind++) {
            const size_t item = *kind == 'F' || *kind == 'E' ? 4 : 8;
            size = (size + item - 1) / item * item;
            places.push_back(size);
            size += item;
        }
        bytes.resize((size + 7) / 8, 0);
        for (uint32_t i = 0; i < operation.tensor_count; i++) {
            const dmlcts_tensor &tensor = operation.tensors[i];
            if (tensor.member >= places.size() || kinds[tensor.member] != 'T') throw Failed("no such tensor", E_INVALIDARG);
            buffers[i].DataType = static_cast<DML_TENSOR_DATA_TYPE>(tensor.data_type);
            buffers[i].Flags = static_cast<DML_TENSOR_FLAGS>(tensor.flags);
            buffers[i].DimensionCount = tensor.dimension_count;
            buffers[i].Sizes = tensor.sizes;
            buffers[i].Strides = tensor.has_strides ? tensor.strides : nullptr;
            buffers[i].TotalTensorSizeInBytes = tensor.total_size;
            buffers[i].GuaranteedBaseOffsetAlignment = tensor.base_offset_alignment;
            tensors[i].Type = DML_TENSOR_TYPE_BUFFER;
            tensors[i].Desc = &buffers[i];
            put(places[tensor.member], static_cast<const void *>(&tensors[i]));
        }
        for (uint32_t i = 0; i < operation.attribute_count; i++) {
            const dmlcts_attribute &attribute = operation.attributes[i];
            if (attribute.member >= places.size() || kinds[attribute.member] == 'T')
                throw Failed("no such attribute", E_INVALIDARG);
            if (kinds[attribute.member] == 'S') {
                static_assert(sizeof(DML_SCALE_BIAS) == sizeof attribute.value, "two floats");
                std::memcpy(&scale_biases[i], attribute.value, sizeof scale_biases[i]);
                put(places[attribute.member], static_cast<const void *>(&scale_biases[i]));
            } else {
                const bool narrow = kinds[attribute.member] == 'F' || kinds[attribute.member] == 'E';
                std::memcpy(at(places[attribute.member]), attribute.value, narrow ? 4 : 8);
            }
        }
        desc.Type = static_cast<DML_OPERATOR_TYPE>(operation.operator_type);
        desc.Desc = bytes.data();
    }
    Description(const Description &) = delete;
    Description &operator=(const Description &) = delete;

    DML_OPERATOR_DESC desc;

private:
    uint8_t *at(size_t place) { return reinterpret_cast<uint8_t *>(bytes.data()) + place; }
    void put(size_t place, const void *pointer) { std::memcpy(at(place), &pointer, sizeof pointer); }

    std::vector<DML_TENSOR_DESC> tensors;
    std::vector<DML_BUFFER_TENSOR_DESC> buffers;
    std::vector<DML_SCALE_BIAS> scale_biases;
    std::vector<uint64_t> bytes;
};
static_assert(sizeof(void *) == 8, "the structures are laid out for 64 bits");
static_assert(sizeof(DML_ELEMENT_WISE_CLIP_OPERATOR_DESC) == 32, "TTSFF");
static_assert(sizeof(DML_ELEMENT_WISE_CLIP1_OPERATOR_DESC) == 48, "TTSENN");
static_assert(sizeof(DML_ELEMENT_WISE_ROUND_OPERATOR_DESC) == 24, "TTE");

/* The device. */

D3D12_RESOURCE_BARRIER transition(ID3D12Resource *resource, D3D12_RESOURCE_STATES before, D3D12_RESOURCE_STATES after) {
    D3D12_RESOURCE_BARRIER barrier = {};
    barrier.Type = D3D12_RESOURCE_BARRIER_TYPE_TRANSITION;
    barrier.Transition.pResource = resource;
    barrier.Transition.Subresource = D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES;
    barrier.Transition.StateBefore = before;
    barrier.Transition.StateAfter = after;
    return barrier;
}

std::string narrow(const wchar_t *wide) {
    char text[256] = {};
    WideCharToMultiByte(CP_UTF8, 0, wide, -1, text, sizeof text - 1, nullptr, nullptr);
    return text;
}

struct Kernel {
    Held<IDMLOperator> operation;
    Held<IDMLCompiledOperator> compiled;
    Held<ID3D12Resource> persistent;
    DML_BINDING_PROPERTIES wanted = {};
    std::vector<uint32_t> inputs; /* the members of all inputs, those that are not there too */
    uint32_t output = 0;
};

class Device {
public:
    std::string adapter_name, driver_version;
    uint32_t feature_level = 0;

    explicit Device(const std::string &wanted) {
        Held<IDXGIFactory4> factory;
        Held<IDXGIAdapter1> adapter;
        check("CreateDXGIFactory1", CreateDXGIFactory1(IID_PPV_ARGS(factory.put())));
        if (wanted == "WARP")
            check("EnumWarpAdapter", factory->EnumWarpAdapter(IID_PPV_ARGS(adapter.put())));
        else
            check("EnumAdapters1", factory->EnumAdapters1(static_cast<UINT>(std::atoi(wanted.c_str())), adapter.put()));
        DXGI_ADAPTER_DESC1 said = {};
        check("GetDesc1", adapter->GetDesc1(&said));
        adapter_name = narrow(said.Description);
        LARGE_INTEGER version = {};
        if (SUCCEEDED(adapter->CheckInterfaceSupport(__uuidof(IDXGIDevice), &version)))
            driver_version = std::to_string(version.HighPart >> 16) + "." + std::to_string(version.HighPart & 0xffff) + "." +
                             std::to_string(version.LowPart >> 16) + "." + std::to_string(version.LowPart & 0xffff);
        check("D3D12CreateDevice", D3D12CreateDevice(adapter.get(), D3D_FEATURE_LEVEL_11_0, IID_PPV_ARGS(device.put())));
        D3D12_COMMAND_QUEUE_DESC queue_desc = {};
        queue_desc.Type = D3D12_COMMAND_LIST_TYPE_COMPUTE;
        check("CreateCommandQueue", device->CreateCommandQueue(&queue_desc, IID_PPV_ARGS(queue.put())));
        check("CreateCommandAllocator",
              device->CreateCommandAllocator(D3D12_COMMAND_LIST_TYPE_COMPUTE, IID_PPV_ARGS(allocator.put())));
        check("CreateCommandList", device->CreateCommandList(0, D3D12_COMMAND_LIST_TYPE_COMPUTE, allocator.get(), nullptr,
                                                             IID_PPV_ARGS(list.put())));
        check("CreateFence", device->CreateFence(0, D3D12_FENCE_FLAG_NONE, IID_PPV_ARGS(fence.put())));
        check("DMLCreateDevice", DMLCreateDevice(device.get(), DML_CREATE_DEVICE_FLAG_NONE, IID_PPV_ARGS(library.put())));
        check("CreateCommandRecorder", library->CreateCommandRecorder(IID_PPV_ARGS(recorder.put())));
        feature_level = highest_level();
    }

    std::unique_ptr<Kernel> create(const dmlcts_operator &operation, const char *kinds) {
        auto made = std::unique_ptr<Kernel>(new Kernel);
        Description description(operation, kinds);
        check("CreateOperator", library->CreateOperator(&description.desc, IID_PPV_ARGS(made->operation.put())));
        check("CompileOperator",
              library->CompileOperator(made->operation.get(), static_cast<DML_EXECUTION_FLAGS>(operation.execution_flags),
                                       IID_PPV_ARGS(made->compiled.put())));
        made->wanted = made->compiled->GetBindingProperties();
        for (uint32_t member = 0; kinds[member] != 0; member++)
            if (kinds[member] == 'T') made->inputs.push_back(member);
        made->output = made->inputs.back();
        made->inputs.pop_back();
        initialize(*made);
        return made;
    }

    void dispatch(Kernel &kernel, void *memory, uint64_t size, const dmlcts_binding *bindings, uint32_t count) {
        make_buffers(size);
        void *mapped = nullptr;
        const D3D12_RANGE nothing = {0, 0};
        const D3D12_RANGE everything = {0, static_cast<SIZE_T>(size)};
        check("Map", upload->Map(0, &nothing, &mapped));
        std::memcpy(mapped, memory, static_cast<size_t>(size));
        upload->Unmap(0, nullptr);
        list->CopyBufferRegion(resource.get(), 0, upload.get(), 0, size);
        D3D12_RESOURCE_BARRIER barrier =
            transition(resource.get(), D3D12_RESOURCE_STATE_COPY_DEST, D3D12_RESOURCE_STATE_UNORDERED_ACCESS);
        list->ResourceBarrier(1, &barrier);

        std::vector<DML_BUFFER_BINDING> buffers(kernel.inputs.size() + 1);
        std::vector<DML_BINDING_DESC> bound(kernel.inputs.size() + 1);
        for (size_t i = 0; i <= kernel.inputs.size(); i++) {
            const uint32_t member = i < kernel.inputs.size() ? kernel.inputs[i] : kernel.output;
            const dmlcts_binding *binding = dmlcts_binding_of(bindings, count, member);
            bound[i].Type = binding != nullptr ? DML_BINDING_TYPE_BUFFER : DML_BINDING_TYPE_NONE;
            bound[i].Desc = binding != nullptr ? &buffers[i] : nullptr;
            if (binding == nullptr) continue;
            buffers[i].Buffer = resource.get();
            buffers[i].Offset = binding->offset;
            buffers[i].SizeInBytes = binding->size;
        }
        Held<IDMLBindingTable> table;
        make_table(kernel.compiled.get(), kernel.wanted.RequiredDescriptorCount, table);
        table->BindInputs(static_cast<UINT>(kernel.inputs.size()), bound.data());
        table->BindOutputs(1, &bound.back());
        Held<ID3D12Resource> temporary;
        bind_temporary(*table.get(), kernel.wanted.TemporaryResourceSize, temporary);
        if (kernel.persistent) {
            DML_BUFFER_BINDING whole = {kernel.persistent.get(), 0, kernel.wanted.PersistentResourceSize};
            DML_BINDING_DESC desc = {DML_BINDING_TYPE_BUFFER, &whole};
            table->BindPersistentResource(&desc);
        }
        record(kernel.compiled.get(), table.get());
        barrier = transition(resource.get(), D3D12_RESOURCE_STATE_UNORDERED_ACCESS, D3D12_RESOURCE_STATE_COPY_SOURCE);
        list->ResourceBarrier(1, &barrier);
        list->CopyBufferRegion(readback.get(), 0, resource.get(), 0, size);
        execute();
        check("Map", readback->Map(0, &everything, &mapped));
        std::memcpy(memory, mapped, static_cast<size_t>(size));
        readback->Unmap(0, &nothing);
    }

    /* Close the list, whether it was open or not, and open it anew. */
    void abandon() {
        list->Close();
        allocator->Reset();
        list->Reset(allocator.get(), nullptr);
    }

    bool lost() const { return FAILED(device->GetDeviceRemovedReason()) || FAILED(library->GetDeviceRemovedReason()); }

private:
    uint32_t highest_level() {
        const DML_FEATURE_LEVEL levels[] = {
            DML_FEATURE_LEVEL_1_0, DML_FEATURE_LEVEL_2_0, DML_FEATURE_LEVEL_2_1, DML_FEATURE_LEVEL_3_0,
            DML_FEATURE_LEVEL_3_1, DML_FEATURE_LEVEL_4_0, DML_FEATURE_LEVEL_4_1, DML_FEATURE_LEVEL_5_0,
            DML_FEATURE_LEVEL_5_1, DML_FEATURE_LEVEL_5_2, DML_FEATURE_LEVEL_6_0, DML_FEATURE_LEVEL_6_1,
            DML_FEATURE_LEVEL_6_2, DML_FEATURE_LEVEL_6_3, DML_FEATURE_LEVEL_6_4,
        };
        DML_FEATURE_QUERY_FEATURE_LEVELS query = {};
        DML_FEATURE_DATA_FEATURE_LEVELS answer = {};
        query.RequestedFeatureLevelCount = static_cast<UINT>(sizeof levels / sizeof *levels);
        query.RequestedFeatureLevels = levels;
        check("CheckFeatureSupport",
              library->CheckFeatureSupport(DML_FEATURE_FEATURE_LEVELS, sizeof query, &query, sizeof answer, &answer));
        return static_cast<uint32_t>(answer.MaxSupportedFeatureLevel);
    }

    void make_buffer(uint64_t size, D3D12_HEAP_TYPE kind, D3D12_RESOURCE_STATES state, Held<ID3D12Resource> &made) {
        D3D12_HEAP_PROPERTIES heap = {};
        heap.Type = kind;
        heap.CreationNodeMask = heap.VisibleNodeMask = 1;
        D3D12_RESOURCE_DESC desc = {};
        desc.Dimension = D3D12_RESOURCE_DIMENSION_BUFFER;
        desc.Width = size;
        desc.Height = desc.DepthOrArraySize = desc.MipLevels = 1;
        desc.SampleDesc.Count = 1;
        desc.Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR;
        if (kind == D3D12_HEAP_TYPE_DEFAULT) desc.Flags = D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS;
        check("CreateCommittedResource", device->CreateCommittedResource(&heap, D3D12_HEAP_FLAG_NONE, &desc, state, nullptr,
                                                                         IID_PPV_ARGS(made.put())));
    }

    void make_buffers(uint64_t size) {
        if (resource && size == buffer_size) return;
        buffer_size = 0;
        make_buffer(size, D3D12_HEAP_TYPE_DEFAULT, D3D12_RESOURCE_STATE_COMMON, resource);
        make_buffer(size, D3D12_HEAP_TYPE_UPLOAD, D3D12_RESOURCE_STATE_GENERIC_READ, upload);
        make_buffer(size, D3D12_HEAP_TYPE_READBACK, D3D12_RESOURCE_STATE_COPY_DEST, readback);
        buffer_size = size;
    }

    void make_table(IDMLDispatchable *dispatchable, UINT count, Held<IDMLBindingTable> &table) {
        if (!heap || count > heap_count) {
            D3D12_DESCRIPTOR_HEAP_DESC desc = {};
            desc.Type = D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV;
            desc.NumDescriptors = (std::max)(count, 64u);
            desc.Flags = D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE;
            check("CreateDescriptorHeap", device->CreateDescriptorHeap(&desc, IID_PPV_ARGS(heap.put())));
            heap_count = desc.NumDescriptors;
        }
        DML_BINDING_TABLE_DESC desc = {};
        desc.Dispatchable = dispatchable;
        desc.CPUDescriptorHandle = heap->GetCPUDescriptorHandleForHeapStart();
        desc.GPUDescriptorHandle = heap->GetGPUDescriptorHandleForHeapStart();
        desc.SizeInDescriptors = count;
        check("CreateBindingTable", library->CreateBindingTable(&desc, IID_PPV_ARGS(table.put())));
    }

    void bind_temporary(IDMLBindingTable &table, uint64_t size, Held<ID3D12Resource> &made) {
        if (size == 0) return;
        make_buffer(size, D3D12_HEAP_TYPE_DEFAULT, D3D12_RESOURCE_STATE_COMMON, made);
        DML_BUFFER_BINDING whole = {made.get(), 0, size};
        DML_BINDING_DESC desc = {DML_BINDING_TYPE_BUFFER, &whole};
        table.BindTemporaryResource(&desc);
    }

    void initialize(Kernel &kernel) {
        IDMLCompiledOperator *compiled = kernel.compiled.get();
        Held<IDMLOperatorInitializer> initializer;
        Held<IDMLBindingTable> table;
        Held<ID3D12Resource> temporary;
        check("CreateOperatorInitializer",
              library->CreateOperatorInitializer(1, &compiled, IID_PPV_ARGS(initializer.put())));
        const DML_BINDING_PROPERTIES wanted = initializer->GetBindingProperties();
        make_table(initializer.get(), wanted.RequiredDescriptorCount, table);
        bind_temporary(*table.get(), wanted.TemporaryResourceSize, temporary);
        if (kernel.wanted.PersistentResourceSize != 0) {
            make_buffer(kernel.wanted.PersistentResourceSize, D3D12_HEAP_TYPE_DEFAULT, D3D12_RESOURCE_STATE_COMMON,
                        kernel.persistent);
            DML_BUFFER_BINDING whole = {kernel.persistent.get(), 0, kernel.wanted.PersistentResourceSize};
            DML_BINDING_DESC desc = {DML_BINDING_TYPE_BUFFER, &whole};
            table->BindOutputs(1, &desc);
        }
        record(initializer.get(), table.get());
        execute();
    }

    void record(IDMLDispatchable *dispatchable, IDMLBindingTable *table) {
        ID3D12DescriptorHeap *heaps[] = {heap.get()};
        list->SetDescriptorHeaps(1, heaps);
        recorder->RecordDispatch(list.get(), dispatchable, table);
    }

    void execute() {
        check("Close", list->Close());
        ID3D12CommandList *lists[] = {list.get()};
        queue->ExecuteCommandLists(1, lists);
        finished++;
        check("Signal", queue->Signal(fence.get(), finished));
        /* without an event the call returns when the value is reached */
        if (fence->GetCompletedValue() < finished) check("SetEventOnCompletion", fence->SetEventOnCompletion(finished, nullptr));
        if (lost()) throw Failed("the device was removed", DXGI_ERROR_DEVICE_REMOVED);
        check("Reset", allocator->Reset());
        check("Reset", list->Reset(allocator.get(), nullptr));
    }

    Held<ID3D12Device> device;
    Held<ID3D12CommandQueue> queue;
    Held<ID3D12CommandAllocator> allocator;
    Held<ID3D12GraphicsCommandList> list;
    Held<ID3D12Fence> fence;
    Held<ID3D12DescriptorHeap> heap;
    Held<ID3D12Resource> resource, upload, readback;
    Held<IDMLDevice> library;
    Held<IDMLCommandRecorder> recorder;
    UINT heap_count = 0;
    uint64_t buffer_size = 0;
    uint64_t finished = 0;
};

/* The runner. One conversation at a time, as over standard input and output: a device serves one. */

std::unique_ptr<Device> opened;

int reported(dmlcts_error *error, const Failed &failed) {
    const bool gone = failed.result == DXGI_ERROR_DEVICE_REMOVED || failed.result == DXGI_ERROR_DEVICE_HUNG ||
                      failed.result == DXGI_ERROR_DEVICE_RESET || (opened && opened->lost());
    if (opened && !gone) opened->abandon();
    const int status = gone                              ? DMLCTS_STATUS_DEVICE_LOST
                       : failed.result == E_INVALIDARG   ? DMLCTS_STATUS_INVALID_ARGUMENT
                       : failed.result == E_OUTOFMEMORY  ? DMLCTS_STATUS_OUT_OF_MEMORY
                                                         : DMLCTS_STATUS_EXECUTION_FAILED;
    return dmlcts_fail(error, status, "%s: 0x%08lX", failed.what(), static_cast<unsigned long>(failed.result));
}

int open_device(dmlcts_runner *runner, const dmlcts_option *options, uint32_t count, dmlcts_error *error) {
    std::string adapter = "0";
    for (uint32_t i = 0; i < count; i++) {
        if (std::strcmp(options[i].key, "adapter") != 0)
            return dmlcts_fail(error, DMLCTS_STATUS_BAD_OPTION, "there is no option %s", options[i].key);
        adapter = options[i].value;
    }
    if (opened) return dmlcts_fail(error, DMLCTS_STATUS_UNAVAILABLE, "another conversation uses the device");
    try {
        opened.reset(new Device(adapter));
    } catch (const Failed &failed) {
        return dmlcts_fail(error, DMLCTS_STATUS_UNAVAILABLE, "%s: 0x%08lX", failed.what(),
                           static_cast<unsigned long>(failed.result));
    }
    runner->adapter = opened->adapter_name.c_str();
    runner->driver = opened->driver_version.c_str();
    runner->feature_level = opened->feature_level;
    return DMLCTS_STATUS_OK;
}

int create(dmlcts_runner *, const dmlcts_operator *operation, void **kernel, dmlcts_error *error) {
    const char *kinds = members_of(operation->operator_type);
    if (kinds == nullptr)
        return dmlcts_fail(error, DMLCTS_STATUS_NOT_SUPPORTED, "operator %u is none of the element-wise ones",
                           static_cast<unsigned>(operation->operator_type));
    try {
        *kernel = opened->create(*operation, kinds).release();
        return DMLCTS_STATUS_OK;
    } catch (const Failed &failed) {
        return reported(error, failed);
    }
}

int dispatch(dmlcts_runner *, void *kernel, void *memory, uint64_t size, const dmlcts_binding *bindings, uint32_t count,
             dmlcts_error *error) {
    try {
        opened->dispatch(*static_cast<Kernel *>(kernel), memory, size, bindings, count);
        return DMLCTS_STATUS_OK;
    } catch (const Failed &failed) {
        const int status = reported(error, failed);
        return status == DMLCTS_STATUS_INVALID_ARGUMENT ? DMLCTS_STATUS_EXECUTION_FAILED : status;
    }
}

void destroy(dmlcts_runner *, void *kernel) { delete static_cast<Kernel *>(kernel); }

void close_device(dmlcts_runner *) { opened.reset(); }

}  // namespace

int main(int argc, char **argv) {
    dmlcts_runner runner = {};
    runner.name = "directml-runner";
    runner.library = "DirectML";
    runner.open = open_device;
    runner.create = create;
    runner.dispatch = dispatch;
    runner.destroy = destroy;
    runner.close = close_device;
    return dmlcts_run(&runner, argc, argv);
}
