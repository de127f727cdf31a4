// The functions every instruction set provides, as pointers: the bindings call through it.
#pragma once

#include "kirchhoff_problem.hpp"
#include "problem.hpp"
#include "segment.hpp"

namespace subsalt {

struct Table {
    const char* name;     // v2, v3, v4 or generic
    const char* numerics; // fields are equal bit for bit within one class: "fma" or "mul-add"
    int lanes;            // floats per vector

    void (*memory_step)(const Problem&, const Levels&, const Box&, int threads);
    void (*time_step)(const Problem&, const Levels&, int threads);
    void (*field_step)(const Problem&, const Levels&, const Box&, int threads, bool generic_radius);
    void (*apply_l)(const Problem&, const float* const* fields, const Box&, float* const* out, int threads);
    void (*inject)(const Problem&, float* const* fields, const Points&, const float* values, int threads);
    void (*record)(const Problem&, const float* const* fields, const Points&, float* out, int threads);
    void (*sample)(const Problem&, const Sample&, const float* const* fields, int threads);
    void (*square)(float* image, const float* u, Index n, float scale, int threads);
    void (*product)(float* image, const float* u, const float* w, Index n, float scale, int threads);
    void (*plain_step)(const Problem&, const Levels&, int threads); // orders 4 and 8, 3-D, no layer
    bool (*is_finite)(const Problem&, const float* const* fields, int threads);
    void (*segment)(const Problem&, const Segment&); // steps with injection, recording, snapshots
    void (*piece)(const Problem&, const Segment&, const Piece&);
    Tiling (*tiling)(const Problem&, const Segment&);
    void (*add_shares)(const Points&, const float* shares, float* data, Index steps);
    void (*shell)(const Problem&, float* const* fields, const Shell&, float* record, bool put_back, int threads);
    // of fields that a step from a time index has made, sources included, and of the level it read
    void (*mirror)(const Problem&, const Mirror&, float* const* made, const float* const* read, int threads);
    Index (*kirchhoff_sum)(const KirchhoffMedium&, const KirchhoffTraces&, const KirchhoffRules&, const KirchhoffImage&,
                           Index tile, int threads);
};

} // namespace subsalt
