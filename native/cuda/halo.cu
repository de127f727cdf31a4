// Ghost planes of a time level on their way between this GPU and those of other ranks.
//
// out:  compute --event `made`--> stream of the halo: block by block to page-locked memory --event `left`--> the host
//       looks at it between two launches (subsalt_cuda_halo_left), and lets MPI send.
// in:   MPI has filled page-locked memory; the stream of the halo copies it to the ghost planes, event `come`, for
// which
//       `compute` waits; the host does not.
// Where MPI itself reaches the device there are no copies: `left` is then the event `made`, and a message that has been
// received is in the ghost planes.
//
// Arrays: blocks of whole planes of a padded array, contiguous on both sides. Bytes per exchange over the host link:
// those sent and those received once each, (M planes, 2 M in TTI or near the layer of x) x padded plane x 4 B per cut
// and field. At 50 GB/s and 1231 x 1151 points per plane, order 8: 23 MB per direction and cut, 0.5 ms, under a core of
// 2 to 5 ms.
//
// Order, all of it by streams and events: the copies out come after everything asked of `compute` before `leave`, so
// after the shells, and not after the core that is asked for then. Copies in come after the copies out of the same
// exchange, and so after all reads of the ghost planes' old values, which lie before `made` on `compute`. Page-locked
// blocks are written again by the next `leave` of this level two steps later, when MPI has sent them.
#include <vector>

#include "context.hpp"

namespace subsalt::cuda {

namespace {

/// One block of planes: where it lies on the device, and in page-locked memory (null: MPI takes it from the device).
struct Block {
    void* device;
    void* host;
    std::size_t bytes;
};

struct Halo {
    std::vector<Block> sent, received;
    cudaStream_t stream = nullptr;
    cudaEvent_t made = nullptr, left = nullptr, come = nullptr;

    ~Halo() {
        // what is asked for still writes into blocks that their owner is about to give back
        if (stream != nullptr) cudaStreamSynchronize(stream);
        for (const cudaEvent_t event : {made, left, come})
            if (event != nullptr) cudaEventDestroy(event);
        if (stream != nullptr) cudaStreamDestroy(stream);
    }
};

Status make(Halo& halo) {
    SUBSALT_CHECK(cudaStreamCreateWithFlags(&halo.stream, cudaStreamNonBlocking));
    for (cudaEvent_t* const event : {&halo.made, &halo.left, &halo.come})
        SUBSALT_CHECK(cudaEventCreateWithFlags(event, cudaEventDisableTiming));
    return cudaSuccess;
}

std::vector<Block> blocks_of(std::int32_t n, void* const* device, void* const* host, const std::int64_t* bytes) {
    std::vector<Block> out;
    for (std::int32_t i = 0; i < n; ++i)
        out.push_back({device[i], host == nullptr ? nullptr : host[i], static_cast<std::size_t>(bytes[i])});
    return out;
}

Status leave(Halo& halo) {
    SUBSALT_CHECK(cudaEventRecord(halo.made, context().compute));
    SUBSALT_CHECK(cudaStreamWaitEvent(halo.stream, halo.made, 0));
    for (const Block& b : halo.sent)
        if (b.host != nullptr)
            SUBSALT_CHECK(cudaMemcpyAsync(b.host, b.device, b.bytes, cudaMemcpyDeviceToHost, halo.stream));
    return cudaEventRecord(halo.left, halo.stream);
}

Status arrive(Halo& halo) {
    for (const Block& b : halo.received)
        if (b.host != nullptr)
            SUBSALT_CHECK(cudaMemcpyAsync(b.device, b.host, b.bytes, cudaMemcpyHostToDevice, halo.stream));
    SUBSALT_CHECK(cudaEventRecord(halo.come, halo.stream));
    return cudaStreamWaitEvent(context().compute, halo.come, 0);
}

} // namespace

} // namespace subsalt::cuda

using namespace subsalt::cuda;

int subsalt_cuda_halo(int32_t n, void* const* sent, void* const* received, void* const* sent_host,
                      void* const* received_host, const int64_t* sent_bytes, const int64_t* received_bytes,
                      void** out) {
    *out = nullptr;
    return entered("making the exchange of ghost planes", [&]() -> Status {
        std::unique_ptr<Halo> halo(
            new Halo{blocks_of(n, sent, sent_host, sent_bytes), blocks_of(n, received, received_host, received_bytes)});
        SUBSALT_CHECK(make(*halo));
        *out = halo.release();
        return cudaSuccess;
    });
}

int subsalt_cuda_halo_leave(void* halo) {
    return entered("sending ghost planes", [&] { return leave(*static_cast<Halo*>(halo)); });
}

int subsalt_cuda_halo_left(void* halo, int32_t* left) {
    *left = 0;
    return entered("sending ghost planes", [&]() -> Status {
        const Status status = cudaEventQuery(static_cast<Halo*>(halo)->left);
        *left = status == cudaSuccess;
        if (status != cudaErrorNotReady) return status;
        cudaGetLastError(); // it counts as an error, and the next launch would bring it back
        return cudaSuccess;
    });
}

int subsalt_cuda_halo_arrive(void* halo) {
    return entered("receiving ghost planes", [&] { return arrive(*static_cast<Halo*>(halo)); });
}

int subsalt_cuda_free_halo(void* halo) {
    enter_to_free();
    delete static_cast<Halo*>(halo);
    return 0;
}
