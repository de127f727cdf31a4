// How far a wavefield has come, on the device: a box outside of which every number of its state is +0.
#pragma once

#include "context.hpp"

namespace subsalt::cuda {

/// The box of one wavefield from step to step. It grows by what a step may reach, and every few steps shrinks to what
/// the arrays hold. What lies beyond is not advanced: it would come out as +0, which stands there (isa/front.hpp).
class Reached {
public:
    /// Look at all arrays of a state between two steps. `fed`: where sources will act; empty for nowhere.
    Status find(const DeviceProblem& pb, const Levels& levels, Index it, const Box& fed);
    /// The box that the step from time index `it` has to advance; what is outside keeps its bits. `look_after`: so many
    /// steps after a look there is another.
    Status step(const DeviceProblem& pb, const Levels& levels, Index look_after, Box* box);
    /// Whether the box is that of the state at this time index.
    bool is_at(Index it) const { return it_ == it; }
    /// Whether the rest is not worth leaving out; boxes never shrink by much, so it will not be again.
    bool whole() const { return whole_; }

private:
    Status look(const DeviceProblem& pb, const Levels& levels);

    Box box_{}, known_{}; // holds all but +0; what of it is known to be filled
    Index it_ = -1;
    Index since_look_ = 0, since_find_ = 0; // steps
    bool whole_ = false;
};

/// The smallest box that holds both.
Box joined(const Box& a, const Box& b);

inline Index points_of(const Box& box) {
    Index points = 1;
    for (int a = 0; a < 3; ++a)
        points *= box.hi[a] > box.lo[a] ? box.hi[a] - box.lo[a] : 0;
    return points;
}

} // namespace subsalt::cuda
