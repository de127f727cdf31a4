// The measurements of the machine that every instruction set provides: what `subsalt lab` times beside the kernels.
#pragma once

#include "problem.hpp"

namespace subsalt {

struct LabTable {
    int lanes;  // floats per vector
    int chains; // independent chains of `multiply_add`

    void (*update)(float* o, const float* a, const float* p, Index n, int threads);
    void (*triad)(float* o, const float* a, const float* p, float scale, Index n, int threads);
    void (*copy)(float* o, const float* a, Index n, int threads);
    void (*multiply_add)(float* out, float factor, float term, Index rounds, int threads);
    void (*roof_step)(const Problem&, const Levels&, int threads);
};

} // namespace subsalt
