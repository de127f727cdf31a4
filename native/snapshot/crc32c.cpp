#include "snapshot/crc32c.hpp"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
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

#endif

} // namespace

bool crc32c_in_hardware() {
#if defined(__x86_64__)
    static const bool has = __builtin_cpu_supports("sse4.2");
    return has;
#else
    return false;
#endif
}

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

std::uint32_t crc32c(const void* data, std::size_t n, std::uint32_t crc) {
#if defined(__x86_64__)
    if (crc32c_in_hardware()) return by_instruction(static_cast<const unsigned char*>(data), n, crc);
#endif
    return crc32c_by_tables(data, n, crc);
}

} // namespace subsalt
