#include "signal/decode_samples.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>

#define SUBSALT_ALWAYS_INLINE __attribute__((always_inline)) inline

namespace subsalt::signal {
namespace {

template <class Word>
SUBSALT_ALWAYS_INLINE Word swapped(Word w) {
    if constexpr (sizeof(Word) == 8) return static_cast<Word>(__builtin_bswap64(static_cast<uint64_t>(w)));
    if constexpr (sizeof(Word) == 4) return static_cast<Word>(__builtin_bswap32(static_cast<uint32_t>(w)));
    if constexpr (sizeof(Word) == 2) return static_cast<Word>(__builtin_bswap16(static_cast<uint16_t>(w)));
    return w;
}

SUBSALT_ALWAYS_INLINE float from_ibm(uint32_t w) {
    // 2^(4 e - 280) as a double with the sign of w: its exponent lies between -280 and 228
    const auto power = static_cast<uint64_t>(4 * ((w >> 24) & 0x7F) + 1023 - 280) << 52;
    const auto sign = static_cast<uint64_t>(w >> 31) << 63;
    return static_cast<float>(static_cast<double>(static_cast<int32_t>(w & 0xFFFFFF)) *
                              std::bit_cast<double>(power | sign));
}

// How a format is read: Word holds the bytes of a sample, value() is what they stand for.
struct Ibm {
    using Word = uint32_t;
    static float value(Word w) { return from_ibm(w); }
};
struct Ieee {
    using Word = uint32_t;
    static float value(Word w) { return std::bit_cast<float>(w); }
};
struct IeeeDouble {
    using Word = uint64_t;
    static float value(Word w) { return static_cast<float>(std::bit_cast<double>(w)); }
};
template <class Integer>
struct Whole {
    using Word = Integer;
    static float value(Word w) { return static_cast<float>(w); }
};

template <class Format, bool Swap>
struct Reader {
    static constexpr int64_t bytes = sizeof(typename Format::Word);
    static float at(const uint8_t* p) {
        typename Format::Word w;
        std::memcpy(&w, p, sizeof w);
        return Format::value(Swap ? swapped(w) : w);
    }
};

template <bool Signed, bool Big>
struct ThreeBytes {
    static constexpr int64_t bytes = 3;
    static float at(const uint8_t* p) {
        const int32_t w = Big ? p[0] << 16 | p[1] << 8 | p[2] : p[2] << 16 | p[1] << 8 | p[0];
        return static_cast<float>(Signed ? w - ((w >> 23) << 24) : w);
    }
};

template <class Reader>
SUBSALT_ALWAYS_INLINE void decode(const SampleRows& rows, bool zero_bad, float* out, int32_t* bad) {
    for (int64_t i = 0; i < rows.n; ++i) {
        const uint8_t* from = rows.raw + rows.at[i];
        float* row = out + i * rows.nt;
        const int64_t late = rows.late ? rows.late[i] : 0;
        float* to = row + late;
        std::fill(row, to, 0.0f);
        std::fill(to + rows.ns, row + rows.nt, 0.0f);
        int32_t wrong = 0;
        for (int64_t k = 0; k < rows.ns; ++k) {
            to[k] = Reader::at(from + k * Reader::bytes);
            // all bits of the exponent set: infinite or no number
            wrong += (std::bit_cast<uint32_t>(to[k]) & 0x7F800000u) == 0x7F800000u;
        }
        if (wrong && zero_bad) std::replace_if(to, to + rows.ns, [](float v) { return !std::isfinite(v); }, 0.0f);
        bad[i] = wrong;
    }
}

using Decode = void (*)(const SampleRows&, bool, float*, int32_t*);

template <class Reader>
void decode_here(const SampleRows& rows, bool zero_bad, float* out, int32_t* bad) {
    decode<Reader>(rows, zero_bad, out, bad);
}

#if defined(__x86_64__)
template <class Reader>
__attribute__((target("avx2"))) void decode_avx2(const SampleRows& rows, bool zero_bad, float* out, int32_t* bad) {
    decode<Reader>(rows, zero_bad, out, bad);
}
#endif

// With the instructions that this processor has: x86-64 alone turns no bytes around in vectors. The values are the
// same.
template <class Reader>
Decode best() {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) return decode_avx2<Reader>;
#endif
    return decode_here<Reader>;
}

constexpr bool native_big = std::endian::native == std::endian::big;

} // namespace

int64_t sample_bytes(int code) {
    switch (code) {
    case 1:
    case 2:
    case 5:
    case 10:
        return 4;
    case 3:
    case 11:
        return 2;
    case 6:
    case 9:
    case 12:
        return 8;
    case 7:
    case 15:
        return 3;
    case 8:
    case 16:
        return 1;
    default:
        return 0;
    }
}

void decode_samples(const SampleRows& rows, int code, bool big, bool zero_bad, float* out, int32_t* bad) {
    const auto words = [&]<class Format>(Format) {
        if (big == native_big)
            best<Reader<Format, false>>()(rows, zero_bad, out, bad);
        else
            best<Reader<Format, true>>()(rows, zero_bad, out, bad);
    };
    const auto three = [&]<bool Signed>(std::bool_constant<Signed>) {
        if (big)
            best<ThreeBytes<Signed, true>>()(rows, zero_bad, out, bad);
        else
            best<ThreeBytes<Signed, false>>()(rows, zero_bad, out, bad);
    };
    switch (code) {
    case 1:
        return words(Ibm{});
    case 2:
        return words(Whole<int32_t>{});
    case 3:
        return words(Whole<int16_t>{});
    case 5:
        return words(Ieee{});
    case 6:
        return words(IeeeDouble{});
    case 7:
        return three(std::true_type{});
    case 8:
        return words(Whole<int8_t>{});
    case 9:
        return words(Whole<int64_t>{});
    case 10:
        return words(Whole<uint32_t>{});
    case 11:
        return words(Whole<uint16_t>{});
    case 12:
        return words(Whole<uint64_t>{});
    case 15:
        return three(std::false_type{});
    case 16:
        return words(Whole<uint8_t>{});
    default:
        throw std::invalid_argument("no sample format " + std::to_string(code));
    }
}

} // namespace subsalt::signal
