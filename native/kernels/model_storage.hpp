// The model arrays of a step, m, e and s, as they lie in memory: float32, or 16-bit numbers with a scale.
//
//   Floats    the value itself
//   Packed16  value = fma(scale, u, offset), u = 0 .. 65535
//
// For m the offset is 0, so that u = 0 (padding, halo, the row of a free surface) is exactly 0 and the fma one rounded
// product. For e and s the scale is a power of two and the offset a multiple of it, so that no value needs rounding:
// the fields are those of the float32 kernels on the unpacked model, bit for bit, in every instruction set
// (src/subsalt/kernels/problem.py). Bytes per point and array: 4, and 2: VTI moves 30 instead of 36 bytes, isotropic 14
// instead of 16.
#pragma once

#include "simd.hpp"

namespace subsalt::SUBSALT_NS {

enum class Model : int { m = 0, e = 1, s = 2 };

/// One model array from an offset in the padded array on.
class Floats {
public:
    SUBSALT_INLINE Floats(const Problem& pb, Model which, Index at)
        : at_((which == Model::m   ? pb.m
               : which == Model::e ? pb.e
                                   : pb.s) +
              at) {}
    SUBSALT_INLINE Vec operator()(Index z) const { return load(at_ + z); }
    SUBSALT_INLINE float one(Index z) const { return at_[z]; }
    SUBSALT_INLINE void operator+=(Index n) { at_ += n; }
    SUBSALT_INLINE const void* address(Index z) const { return at_ + z; }

private:
    const float* at_;
};

class Packed16 {
public:
    SUBSALT_INLINE Packed16(const Problem& pb, Model which, Index at)
        : at_(pb.packed[static_cast<int>(which)].values + at), scale1_(pb.packed[static_cast<int>(which)].scale),
          offset1_(pb.packed[static_cast<int>(which)].offset), scale_(set1(scale1_)), offset_(set1(offset1_)) {}
    SUBSALT_INLINE Vec operator()(Index z) const { return fma(scale_, load_u16(at_ + z), offset_); }
    SUBSALT_INLINE float one(Index z) const { return fma1(scale1_, static_cast<float>(at_[z]), offset1_); }
    SUBSALT_INLINE void operator+=(Index n) { at_ += n; }
    SUBSALT_INLINE const void* address(Index z) const { return at_ + z; }

private:
    const std::uint16_t* at_;
    float scale1_, offset1_;
    Vec scale_, offset_;
};

} // namespace subsalt::SUBSALT_NS
