// The model arrays of a step on the device: float32, or 16-bit numbers with a scale (native/kernels/model_storage.hpp,
// where it is shown that both give the same bits). Bytes per point and array: 4, and 2.
#pragma once

#include "stencil.cuh"

namespace subsalt::cuda {

enum class Model : int { m = 0, e = 1, s = 2 };

struct Floats {
    using Quad = float4; // four points as they lie in memory

    SUBSALT_DEVICE static const Quad* at(const Problem& pb, Model which, Index offset) {
        const float* const values = which == Model::m ? pb.m : which == Model::e ? pb.e : pb.s;
        return reinterpret_cast<const Quad*>(values + offset);
    }
    SUBSALT_DEVICE static float4 values(const Problem&, Model, Quad q) { return q; }
    /// The value of one point.
    SUBSALT_DEVICE static float one(const Problem& pb, Model which, Index offset) {
        return (which == Model::m ? pb.m : which == Model::e ? pb.e : pb.s)[offset];
    }
};

struct Packed16 {
    using Quad = ushort4;

    SUBSALT_DEVICE static const Quad* at(const Problem& pb, Model which, Index offset) {
        return reinterpret_cast<const Quad*>(pb.packed[static_cast<int>(which)].values + offset);
    }
    SUBSALT_DEVICE static float4 values(const Problem& pb, Model which, Quad q) {
        const float scale = pb.packed[static_cast<int>(which)].scale;
        const float offset = pb.packed[static_cast<int>(which)].offset;
        return make_float4(fma1(scale, static_cast<float>(q.x), offset), fma1(scale, static_cast<float>(q.y), offset),
                           fma1(scale, static_cast<float>(q.z), offset), fma1(scale, static_cast<float>(q.w), offset));
    }
    SUBSALT_DEVICE static float one(const Problem& pb, Model which, Index offset) {
        const PackedArray& a = pb.packed[static_cast<int>(which)];
        return fma1(a.scale, static_cast<float>(a.values[offset]), a.offset);
    }
};

} // namespace subsalt::cuda
