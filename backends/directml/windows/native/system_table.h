/* The functions by name; in_assembler: those that have the library's convention already. Part of system.c. */

static const struct {
    const char *name;
    const void *function;
    int in_assembler;
} functions[] = {
#define SAME_NAME(name) {#name, (const void *)w_##name, 0}
#define AS(name, function) {#name, (const void *)function, 0}
#define IN_ASSEMBLER(name, function) {#name, (const void *)function, 1}
    IN_ASSEMBLER(RaiseException, raise_exception), IN_ASSEMBLER(RtlUnwindEx, unwind_extended),
    IN_ASSEMBLER(RtlUnwind, unwind), IN_ASSEMBLER(RtlCaptureContext, capture_context),
    AS(RtlVirtualUnwind, virtual_unwind), AS(RtlLookupFunctionEntry, lookup_function_entry),
    AS(RtlPcToFileHeader, pc_to_file_header),
    SAME_NAME(GetLastError), SAME_NAME(SetLastError),
    SAME_NAME(GetProcessHeap), SAME_NAME(HeapAlloc), SAME_NAME(HeapReAlloc), SAME_NAME(HeapFree), SAME_NAME(HeapSize),
    SAME_NAME(VirtualAlloc), SAME_NAME(VirtualFree),
    AS(InitializeSRWLock, w_clear), AS(AcquireSRWLockExclusive, w_AcquireSRWLock),
    AS(AcquireSRWLockShared, w_AcquireSRWLock), AS(ReleaseSRWLockExclusive, w_ReleaseSRWLock),
    AS(ReleaseSRWLockShared, w_ReleaseSRWLock), AS(TryAcquireSRWLockExclusive, w_TryAcquireSRWLock),
    AS(InitializeCriticalSection, w_InitializeCriticalSection), AS(InitializeCriticalSectionEx, w_InitializeCriticalSection),
    AS(InitializeCriticalSectionAndSpinCount, w_InitializeCriticalSection), SAME_NAME(DeleteCriticalSection),
    SAME_NAME(EnterCriticalSection), SAME_NAME(TryEnterCriticalSection), SAME_NAME(LeaveCriticalSection),
    AS(InitializeConditionVariable, w_clear), AS(WakeConditionVariable, no), AS(WakeAllConditionVariable, no),
    SAME_NAME(SleepConditionVariableSRW), SAME_NAME(SleepConditionVariableCS), SAME_NAME(InitOnceExecuteOnce),
    AS(CreateSemaphoreExW, w_a_handle), AS(CreateMutexExW, w_a_handle), AS(CreateEventExW, w_a_handle),
    SAME_NAME(OpenSemaphoreW), SAME_NAME(ReleaseSemaphore), AS(ReleaseMutex, yes), AS(CloseHandle, yes),
    AS(WaitForSingleObject, no), AS(WaitForSingleObjectEx, no),
    SAME_NAME(InitializeSListHead), SAME_NAME(InterlockedFlushSList), SAME_NAME(InterlockedPushEntrySList),
    SAME_NAME(TlsAlloc), AS(TlsFree, w_FlsFree), AS(TlsGetValue, w_SlotValue), AS(TlsSetValue, w_SetSlotValue),
    SAME_NAME(FlsAlloc), SAME_NAME(FlsFree), AS(FlsGetValue, w_SlotValue), AS(FlsSetValue, w_SetSlotValue),
    SAME_NAME(GetCurrentThreadId), SAME_NAME(GetCurrentProcessId), SAME_NAME(GetCurrentProcessorNumber),
    SAME_NAME(GetCurrentProcess), SAME_NAME(GetCurrentThread), SAME_NAME(TerminateProcess), SAME_NAME(ExitProcess),
    SAME_NAME(DebugBreak), SAME_NAME(FlushProcessWriteBuffers), AS(IsDebuggerPresent, no), AS(OutputDebugStringW, no),
    AS(SetUnhandledExceptionFilter, no), SAME_NAME(UnhandledExceptionFilter), SAME_NAME(GetStartupInfoW),
    SAME_NAME(IsProcessorFeaturePresent), SAME_NAME(GetCurrentPackageFullName),
    SAME_NAME(EventRegister), AS(EventUnregister, no), AS(EventSetInformation, no), AS(EventWriteTransfer, no),
    SAME_NAME(QueryPerformanceFrequency), SAME_NAME(QueryPerformanceCounter), SAME_NAME(GetTickCount64),
    SAME_NAME(GetSystemTimeAsFileTime),
    AS(LoadLibraryW, w_LoadLibrary), AS(LoadLibraryExW, w_LoadLibrary), AS(FreeLibrary, yes), SAME_NAME(GetProcAddress),
    SAME_NAME(DXGIGetDebugInterface1),
    SAME_NAME(GetModuleHandleW), SAME_NAME(GetModuleHandleExW), SAME_NAME(GetModuleFileNameW),
    SAME_NAME(GetModuleFileNameA), AS(DisableThreadLibraryCalls, yes),
    SAME_NAME(FindResourceW), SAME_NAME(LoadResource), AS(LockResource, same), SAME_NAME(SizeofResource),
    AS(EncodePointer, same), AS(DecodePointer, same),
    AS(GetStdHandle, no), AS(SetStdHandle, yes), AS(GetFileType, no), AS(FreeEnvironmentStringsW, yes),
    AS(SetEnvironmentVariableW, yes), SAME_NAME(GetCommandLineA), SAME_NAME(GetCommandLineW),
    SAME_NAME(GetEnvironmentStringsW),
    SAME_NAME(GetCPInfo), SAME_NAME(GetACP), SAME_NAME(GetOEMCP), SAME_NAME(IsValidCodePage),
    SAME_NAME(GetUserDefaultLCID), SAME_NAME(IsValidLocale), SAME_NAME(EnumSystemLocalesW), SAME_NAME(GetLocaleInfoEx),
    SAME_NAME(GetLocaleInfoW), AS(FormatMessageW, w_FormatMessage), AS(FormatMessageA, w_FormatMessage),
    SAME_NAME(MultiByteToWideChar), SAME_NAME(WideCharToMultiByte), SAME_NAME(CompareStringW),
    SAME_NAME(CompareStringEx), SAME_NAME(LCMapStringW), SAME_NAME(LCMapStringEx), SAME_NAME(GetStringTypeW),
#undef SAME_NAME
#undef AS
#undef IN_ASSEMBLER
};

PUBLIC const void *bridge_system_function(const char *name)
{
    const void *found = provided(name);
    for (uint32_t place = 0; !found && place < sizeof functions / sizeof *functions; place++)
        if (!strcmp(functions[place].name, name))
            found = functions[place].in_assembler ? functions[place].function : bridge_callable_there(functions[place].function);
    return found;
}
