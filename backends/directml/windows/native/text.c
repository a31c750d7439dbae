/* Text, locales and the console: of the plainest place there is, English in Latin letters, with nothing to read from.
 * Sources: Microsoft's pages of the functions of the same names. */
#include "system.h"

#include <string.h>

static int length_of(const wide *text, int length)
{
    if (length >= 0) return length;
    for (length = 0; text[length]; length++) {}
    return length + 1;
}

int w_GetCPInfo(uint32_t page, uint8_t *out)
{
    (void)page;
    memset(out, 0, 20);
    out[0] = 1; /* bytes of a character */
    out[4] = '?';
    return 1;
}

uint32_t w_GetACP(void) { return 1252; }
uint32_t w_GetOEMCP(void) { return 437; }
int w_IsValidCodePage(uint32_t page) { return page == 1252 || page == 437 || page == 65001; }
uint32_t w_GetUserDefaultLCID(void) { return 0x409; }
int w_IsValidLocale(void) { return 0; }
int w_EnumSystemLocalesW(void) { return 0; }
int w_GetLocaleInfoEx(void) { return failed(ERROR_INVALID_PARAMETER); }
int w_GetLocaleInfoW(void) { return failed(ERROR_INVALID_PARAMETER); }
uint32_t w_FormatMessage(void) { return (uint32_t)failed(ERROR_MR_MID_NOT_FOUND); }

int w_MultiByteToWideChar(uint32_t page, uint32_t flags, const uint8_t *text, int length, wide *out, int room)
{
    (void)page;
    (void)flags;
    if (length < 0) length = (int)strlen((const char *)text) + 1;
    if (!room) return length;
    if (room < length) return failed(ERROR_INSUFFICIENT_BUFFER);
    for (int i = 0; i < length; i++) out[i] = text[i];
    return length;
}

int w_WideCharToMultiByte(uint32_t page, uint32_t flags, const wide *text, int length, char *out, int room,
                          const char *instead, int *used)
{
    (void)page;
    (void)flags;
    (void)instead;
    length = length_of(text, length);
    if (used) *used = 0;
    if (!room) return length;
    if (room < length) return failed(ERROR_INSUFFICIENT_BUFFER);
    for (int i = 0; i < length; i++) out[i] = text[i] < 256 ? (char)text[i] : '?';
    return length;
}

enum { LESS = 1, EQUAL = 2, GREATER = 3 };

int w_CompareStringW(uint32_t locale, uint32_t flags, const wide *a, int length_a, const wide *b, int length_b)
{
    (void)locale;
    (void)flags;
    length_a = length_of(a, length_a) - (length_a < 0);
    length_b = length_of(b, length_b) - (length_b < 0);
    for (int i = 0; i < length_a && i < length_b; i++)
        if (a[i] != b[i]) return a[i] < b[i] ? LESS : GREATER;
    return length_a < length_b ? LESS : length_a > length_b ? GREATER : EQUAL;
}

int w_CompareStringEx(const wide *locale, uint32_t flags, const wide *a, int length_a, const wide *b, int length_b)
{
    (void)locale;
    return w_CompareStringW(0, flags, a, length_a, b, length_b);
}

int w_LCMapStringW(uint32_t locale, uint32_t flags, const wide *text, int length, wide *out, int room)
{
    enum { LOWER = 0x100, UPPER = 0x200 };
    (void)locale;
    length = length_of(text, length);
    if (!room) return length;
    if (room < length) return failed(ERROR_INSUFFICIENT_BUFFER);
    for (int i = 0; i < length; i++) {
        wide one = text[i];
        if (flags & LOWER && one >= 'A' && one <= 'Z') one = (wide)(one + 32);
        else if (flags & UPPER && one >= 'a' && one <= 'z') one = (wide)(one - 32);
        out[i] = one;
    }
    return length;
}

int w_LCMapStringEx(const wide *locale, uint32_t flags, const wide *text, int length, wide *out, int room)
{
    (void)locale;
    return w_LCMapStringW(0, flags, text, length, out, room);
}

/* What kind of character each is, of the first 128; CT_CTYPE1 only. */
static uint16_t kind_of(wide one)
{
    enum { UPPER = 1, LOWER = 2, DIGIT = 4, SPACE = 8, PUNCTUATION = 0x10, CONTROL = 0x20, BLANK = 0x40, HEX = 0x80, LETTER = 0x100, DEFINED = 0x200 };
    uint16_t kind = DEFINED;
    if (one >= 128) return kind;
    if (one >= 'A' && one <= 'Z') kind |= UPPER | LETTER;
    if (one >= 'a' && one <= 'z') kind |= LOWER | LETTER;
    if (one >= '0' && one <= '9') kind |= DIGIT;
    if ((one >= '0' && one <= '9') || ((one | 32) >= 'a' && (one | 32) <= 'f')) kind |= HEX;
    if (one == ' ' || (one >= 9 && one <= 13)) kind |= SPACE;
    if (one == ' ' || one == 9) kind |= BLANK;
    if (one < 32 || one == 127) kind |= CONTROL;
    if (one > 32 && one < 127 && !(kind & (UPPER | LOWER | DIGIT))) kind |= PUNCTUATION;
    return kind;
}

int w_GetStringTypeW(uint32_t which, const wide *text, int length, uint16_t *out)
{
    length = length_of(text, length);
    for (int i = 0; i < length; i++) out[i] = which == 1 ? kind_of(text[i]) : 0;
    return 1;
}

static const char command[] = "dmlcts";
static const wide wide_command[] = u"dmlcts";
static const wide no_environment[2];

const char *w_GetCommandLineA(void) { return command; }
const wide *w_GetCommandLineW(void) { return wide_command; }
const wide *w_GetEnvironmentStringsW(void) { return no_environment; }
