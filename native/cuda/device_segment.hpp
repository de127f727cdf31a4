// Time steps of one wavefield on the device without a return to Python: what goes in and comes out on the way, and when
// it travels (segment.cu).
#pragma once

#include <optional>

#include "reached.hpp"
#include "staging.hpp"

namespace subsalt::cuda {

class DeviceSegment {
public:
    explicit DeviceSegment(const DevicePlan& plan) : plan_(plan) {}
    Status open(const SubsaltCudaWork& work);

    /// Part of the step from time index `it`: Psi in `memory` (or nowhere), the next level in the boxes, what is
    /// injected and put back; with `last` also what is done with the level that is complete then.
    Status part(const Levels& levels, Index it, const Box* memory, const Box* boxes, int n_boxes, bool last,
                Index until);
    /// Steps, with checks; what came of them is written to `steps`. Returns when the device has done them.
    Status run(Levels levels, SubsaltCudaSteps* steps);
    /// All that came out is on the host, and nothing of the host is read any more.
    Status finish();

private:
    struct Feed {
        const DevicePoints* points;
        Index nt;
        Inbound rows;
    };
    struct Tap {
        const DevicePoints* points;
        Index nt;
        Outbound rows;
    };
    /// A sample; copies and partners of the host by their number among these, others by pointer.
    struct Visit {
        Sample sample;
        Index copy, partner; // -1: not on the host
    };

    Status open_samples(const SubsaltCudaWork& work);
    Status open_shells(const SubsaltCudaShells& asked, Index buffer);
    Status visit(const Visit& v, float* const* made, Index until);
    Status shells(float* const* made, Index it, bool put_back, Index until);
    Status look(float* const* fields, bool* finite);
    bool leaves_out(const SubsaltCudaSteps& steps) const;
    Status find_front(const Levels& levels, Index it);

    const DevicePlan& plan_;
    std::vector<std::unique_ptr<Feed>> feeds_;
    std::vector<std::unique_ptr<Tap>> taps_;
    std::vector<Visit> visits_;        // ascending in time
    std::vector<Index> partner_times_; // of those on the host
    Outbound copies_;
    Inbound partners_;
    std::optional<Shells> shells_;
    bool shells_travel_ = false;
    Outbound kept_;
    Inbound put_back_;
    std::optional<Box> inner_;
    Reached reached_;
};

} // namespace subsalt::cuda
