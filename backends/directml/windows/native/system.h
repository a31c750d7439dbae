/* What the functions of the system share among their files; w_ stands before the names that Windows gives them. */
#ifndef DMLCTS_SYSTEM_H
#define DMLCTS_SYSTEM_H

#include "bridge.h"

enum {
    ERROR_FILE_NOT_FOUND = 2,
    ERROR_NOT_ENOUGH_MEMORY = 8,
    ERROR_INVALID_PARAMETER = 87,
    ERROR_INSUFFICIENT_BUFFER = 122,
    ERROR_MOD_NOT_FOUND = 126,
    ERROR_PROC_NOT_FOUND = 127,
    ERROR_MR_MID_NOT_FOUND = 317,
    APPMODEL_ERROR_NO_PACKAGE = 15700,
};

/* Notes the error for GetLastError; returns 0, which most functions then return. */
int failed(uint32_t error);

int w_GetCPInfo(uint32_t page, uint8_t *out);
uint32_t w_GetACP(void);
uint32_t w_GetOEMCP(void);
int w_IsValidCodePage(uint32_t page);
uint32_t w_GetUserDefaultLCID(void);
int w_IsValidLocale(void);
int w_EnumSystemLocalesW(void);
int w_GetLocaleInfoEx(void);
int w_GetLocaleInfoW(void);
uint32_t w_FormatMessage(void);
int w_MultiByteToWideChar(uint32_t page, uint32_t flags, const uint8_t *text, int length, wide *out, int room);
int w_WideCharToMultiByte(uint32_t page, uint32_t flags, const wide *text, int length, char *out, int room,
                          const char *instead, int *used);
int w_CompareStringW(uint32_t locale, uint32_t flags, const wide *a, int length_a, const wide *b, int length_b);
int w_CompareStringEx(const wide *locale, uint32_t flags, const wide *a, int length_a, const wide *b, int length_b);
int w_LCMapStringW(uint32_t locale, uint32_t flags, const wide *text, int length, wide *out, int room);
int w_LCMapStringEx(const wide *locale, uint32_t flags, const wide *text, int length, wide *out, int room);
int w_GetStringTypeW(uint32_t which, const wide *text, int length, uint16_t *out);
const char *w_GetCommandLineA(void);
const wide *w_GetCommandLineW(void);
const wide *w_GetEnvironmentStringsW(void);

#endif
