// Plain structs of a segment: some time steps of one wavefield in one call, with what goes in and comes out on the way.
// No code lives here, so the file may be compiled under any instruction set.
#pragma once

#include "mirror.hpp"
#include "problem.hpp"

namespace subsalt {

/// Samples injected at points: sample f[it] acts in the step that makes u[it + 1]; past nt a source is silent.
struct Feed {
    const Points* points;
    const float* samples; // (nt, points->n)
    Index nt;
};

/// Samples recorded at points: row `it` of `data` takes the field at time index it; past nt nothing is kept.
struct Tap {
    const Points* points;
    float* data; // (nt, points->n)
    Index nt;
    float* shares; // null, or instead of `data`: (steps, points->n, points->width), what every plane adds to a sample
};

/// What is done with the imaged field w at one time index, in a box; what is null is left out.
struct Sample {
    Index it;
    Box box;              // all arrays have its shape
    float* copy;          // copy = w
    float* energy;        // energy += (scale w) w
    const float* partner; // image += (scale partner) w
    float* image;
    float scale;
    std::int16_t* copy16 = nullptr;          // in place of copy, in rows of 16 bits (kernels/scaled16.hpp)
    const std::int16_t* partner16 = nullptr; // in place of partner
};

/// The cells of a box within some cells of its faces.
struct Shell {
    Box box;
    Index width[6]; // cells from the faces inwards: x low, x high, y low, y high, z low, z high; opposite ones fit
    Index cells;    // of one field
};

/// Shells of consecutive time indices: row r of `data` is that of time index `first` + r `direction`.
struct Shells {
    Shell shell;
    float* data; // (rows, fields, cells)
    Index rows, first, direction;
    bool put_back; // else kept
};

/// How far a wavefield has come (isa/front.hpp), in points from z = 0 on of every row (nx, ny). Found by the segment
/// that has it first, and carried on by those that go on from where it ended.
struct Front {
    std::int32_t* level[2]; // of the level of an even time index, and of that of an odd one
    std::int32_t* psi[2];   // of Psi of x and y; null without a PML
    Index at;    // time index of the newest level that all these speak of, -1: of none; for another they are found anew
    bool off;    // no row may be cut any more, nor ever will: reaches never shrink
    Index room;  // a row that is advanced no further than this may be cut, others are whole
    Index least; // points that every row that is advanced has at least
};

/// How the work is cut; changes speed, never bits.
struct Cut {
    Index rows;  // rows of y per tile; 0: as many as give each thread one tile
    Index depth; // time steps in one pass over memory, 1 to max_depth
    Index fetch; // 1: the first step of a pass fetches the rows that come next into L1; 2: every step into L2
};

constexpr Index max_depth = 6;

struct Segment {
    Levels even; // the step from `it` reads even.curr and writes over even.prev; the next one the other way round
    Index it;    // time index of even.curr
    Index steps;
    const Feed* feeds;
    Index n_feeds;
    const Tap* taps;
    Index n_taps;
    const Sample* samples; // ascending in `it`
    Index n_samples;
    Cut cut;
    int threads;
    const Shells* shells = nullptr;
    const Box* inner = nullptr;     // null, or what alone is advanced; not with a PML
    Front* front = nullptr;         // null: what the wavefield has not reached is advanced too
    const Mirror* mirror = nullptr; // null, or of a free surface inside the grid; steps are then done one by one
    int slow = -1;                  // a thread that rests before every plane, for tests of what the others wait for
    Index* advanced = nullptr;      // null, or where the points of all steps that were advanced are added
};

/// A part of a pass on a slab, the pass given as a segment: some consecutive steps, each in its own planes, in some
/// tiles. What the planes beyond are read for must be there: made by the pieces before, or received.
struct Piece {
    Index first, count;       // number of its first step in the pass, and how many
    Planes planes[max_depth]; // by step
    Index tile, tiles_end;    // tiles [tile, tiles_end)
    Index from, until;        // planes of its first step: where it goes on, and where it pauses
    int threads;
};

/// The tiles of a pass, and the steps it may have.
struct Tiling {
    Index count, depth;
};

} // namespace subsalt
