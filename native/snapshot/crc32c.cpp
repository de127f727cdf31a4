#include "snapshot/crc32c.hpp"

#include <array>
#include <cstring>
#include <stdexcept>

#if defined(__x86_64__)
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized" // gcc 12 calls its own AVX-512 header uninitialised
#endif
#include <immintrin.h>
#endif

namespace subsalt {

namespace {

constexpr std::uint32_t polynomial = 0x82f63b78; // bits reversed

using Table = std::array<std::array<std::uint32_t, 256>, 8>;

// tables[k][b]: the checksum register after byte b and k zero bytes
constexpr Table byte_tables() {
    Table t{};
    for (std::uint32_t b = 0; b < 256; ++b) {
        std::uint32_t c = b;
        for (int i = 0; i < 8; ++i)
            c = c & 1 ? (c >> 1) ^ polynomial : c >> 1;
        t[0][b] = c;
    }
    for (std::size_t k = 1; k < 8; ++k)
        for (std::size_t b = 0; b < 256; ++b)
            t[k][b] = (t[k - 1][b] >> 8) ^ t[0][t[k - 1][b] & 255];
    return t;
}
constexpr Table tables = byte_tables();

std::uint32_t one_byte(std::uint32_t c, unsigned char b) {
    return (c >> 8) ^ tables[0][(c ^ b) & 255];
}

#if defined(__x86_64__)

// A register shifted by a fixed number of zero bytes: the xor of four entries, one per byte of the register.
using Shift = std::array<std::array<std::uint32_t, 256>, 4>;

Shift shift_by(std::size_t bytes) {
    // the register is linear over GF(2): it is enough to shift its 32 bits
    std::array<std::uint32_t, 32> bit{};
    for (int i = 0; i < 32; ++i) {
        std::uint32_t c = std::uint32_t{1} << i;
        for (std::size_t k = 0; k < bytes; ++k)
            c = one_byte(c, 0);
        bit[i] = c;
    }
    Shift s{};
    for (int part = 0; part < 4; ++part)
        for (int b = 0; b < 256; ++b)
            for (int i = 0; i < 8; ++i)
                if (b >> i & 1) s[part][b] ^= bit[8 * part + i];
    return s;
}

std::uint32_t shifted(const Shift& s, std::uint32_t c) {
    return s[0][c & 255] ^ s[1][c >> 8 & 255] ^ s[2][c >> 16 & 255] ^ s[3][c >> 24];
}

std::uint64_t eight(const unsigned char* p) {
    std::uint64_t v;
    std::memcpy(&v, p, 8);
    return v;
}

constexpr std::size_t lane = 4096; // bytes of a part: three of them fit into the first-level cache

__attribute__((target("sse4.2"))) std::uint32_t by_instruction(const unsigned char* p, std::size_t n,
                                                               std::uint32_t crc) {
    static const Shift one = shift_by(lane);
    std::uint64_t c = ~crc;
    for (; n >= 3 * lane; n -= 3 * lane, p += 3 * lane) {
        std::uint64_t d = 0, e = 0;
        for (std::size_t i = 0; i < lane; i += 8) {
            c = _mm_crc32_u64(c, eight(p + i));
            d = _mm_crc32_u64(d, eight(p + lane + i));
            e = _mm_crc32_u64(e, eight(p + 2 * lane + i));
        }
        c = shifted(one, static_cast<std::uint32_t>(c)) ^ d;
        c = shifted(one, static_cast<std::uint32_t>(c)) ^ e;
    }
    for (; n >= 8; n -= 8, p += 8)
        c = _mm_crc32_u64(c, eight(p));
    auto r = static_cast<std::uint32_t>(c);
    for (; n > 0; --n, ++p)
        r = _mm_crc32_u8(r, *p);
    return ~r;
}

// x^n mod P, bits reversed: what a carry-less product with a 32-bit constant in the low half of a lane needs to stand
// for a shift, n being the shift less 33 (a product of reversed numbers is one bit short, and the constant sits 32 bits
// low).
std::uint64_t power(int n) {
    std::uint32_t c = 0x80000000;
    for (int i = 0; i < n; ++i)
        c = c & 1 ? (c >> 1) ^ polynomial : c >> 1;
    return c;
}

#define SUBSALT_WIDE __attribute__((target("avx512f,vpclmulqdq,sse4.2")))

// Four vectors of 64 bytes are carried along the data (Gopal et al. 2009, with 128-bit products four at a time): the
// data so far are replaced by 256 bytes with the same remainder, by one product per half lane and load.
SUBSALT_WIDE inline __m512i carried(__m512i x, __m512i shift) {
    return _mm512_xor_si512(_mm512_clmulepi64_epi128(x, shift, 0x00), _mm512_clmulepi64_epi128(x, shift, 0x11));
}

SUBSALT_WIDE inline __m512i shift_of(int bits) {
    static_assert(sizeof(long long) == 8);
    return _mm512_broadcast_i32x4(
        _mm_set_epi64x(static_cast<long long>(power(bits - 33)), static_cast<long long>(power(bits + 31))));
}

SUBSALT_WIDE std::uint32_t by_products(const unsigned char* p, std::size_t n, std::uint32_t crc) {
    constexpr std::size_t width = 64, step = 4 * width;
    if (n < 2 * step) return by_instruction(p, n, crc);
    static const __m512i four = shift_of(8 * step), one = shift_of(8 * width);
    __m512i x[4];
    for (std::size_t i = 0; i < 4; ++i)
        x[i] = _mm512_loadu_si512(p + width * i);
    x[0] = _mm512_xor_si512(x[0], _mm512_zextsi128_si512(_mm_cvtsi32_si128(static_cast<int>(~crc))));
    for (p += step, n -= step; n >= step; p += step, n -= step)
        for (std::size_t i = 0; i < 4; ++i)
            x[i] = _mm512_xor_si512(carried(x[i], four), _mm512_loadu_si512(p + width * i));
    for (std::size_t i = 1; i < 4; ++i)
        x[0] = _mm512_xor_si512(carried(x[0], one), x[i]);
    alignas(64) unsigned char rest[width];
    _mm512_store_si512(rest, x[0]);
    // a register of zero: the start value went into the data
    return by_instruction(p, n, by_instruction(rest, width, ~std::uint32_t{0}));
}

bool has_products() {
    static const bool has =
        __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("sse4.2");
    return has;
}

bool has_instruction() {
    static const bool has = __builtin_cpu_supports("sse4.2");
    return has;
}

#endif

std::uint32_t crc32c_by_tables(const void* data, std::size_t n, std::uint32_t crc) {
    const auto* p = static_cast<const unsigned char*>(data);
    std::uint32_t c = ~crc;
    for (; n >= 8; n -= 8, p += 8) {
        // bytes are taken one by one: the order of bytes in a word does not matter
        const std::uint32_t low = c ^ (p[0] | p[1] << 8 | p[2] << 16 | static_cast<std::uint32_t>(p[3]) << 24);
        c = tables[7][low & 255] ^ tables[6][low >> 8 & 255] ^ tables[5][low >> 16 & 255] ^ tables[4][low >> 24] ^
            tables[3][p[4]] ^ tables[2][p[5]] ^ tables[1][p[6]] ^ tables[0][p[7]];
    }
    for (; n > 0; --n, ++p)
        c = one_byte(c, *p);
    return ~c;
}

} // namespace

std::uint32_t crc32c(const void* data, std::size_t n, std::uint32_t crc) {
#if defined(__x86_64__)
    const auto* p = static_cast<const unsigned char*>(data);
    if (has_products()) return by_products(p, n, crc);
    if (has_instruction()) return by_instruction(p, n, crc);
#endif
    return crc32c_by_tables(data, n, crc);
}

std::uint32_t crc32c_by(const std::string& way, const void* data, std::size_t n, std::uint32_t crc) {
#if defined(__x86_64__)
    const auto* p = static_cast<const unsigned char*>(data);
    if (way == "products" && has_products()) return by_products(p, n, crc);
    if (way == "instruction" && has_instruction()) return by_instruction(p, n, crc);
#endif
    if (way == "tables") return crc32c_by_tables(data, n, crc);
    throw std::invalid_argument("this processor has no CRC-32C by " + way);
}

std::vector<std::string> crc32c_ways() {
    std::vector<std::string> ways;
#if defined(__x86_64__)
    if (has_products()) ways.emplace_back("products");
    if (has_instruction()) ways.emplace_back("instruction");
#endif
    ways.emplace_back("tables");
    return ways;
}

} // namespace subsalt
