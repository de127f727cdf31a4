// How long marches are (native/cuda/waves.hpp), for launches drawn at random: test_waves.py reads the lines.
#include "waves.hpp"

#include <cstdio>
#include <random>
#include <vector>

extern "C" std::int64_t subsalt_emulated_occupancy_questions(); // emulation/probes.cpp

using namespace subsalt;
using namespace subsalt::cuda;

namespace {

SUBSALT_GLOBAL void nothing() {}
SUBSALT_GLOBAL void nothing_else() {}

cudaStream_t stream_of(int device) {
    static cudaStream_t made[2] = {};
    if (made[device] == nullptr) cudaStreamCreateWithFlags(&made[device], cudaStreamNonBlocking);
    return made[device];
}

std::mt19937 generator(7);
int drawn(int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(generator);
}

struct Launch {
    std::vector<Marched> boxes;
    MarchLimits limits;
    int at_once;
};

Launch random_launch(int boxes) {
    Launch out{{}, {drawn(1, 10), drawn(20, 200), drawn(0, 9)}, drawn(1, 600)};
    for (int i = 0; i < boxes; ++i)
        out.boxes.push_back({drawn(1, 400), drawn(1, 900), drawn(0, 1) != 0 ? 1 : drawn(2, 16)});
    return out;
}

/// When a launch is done, step by step: blocks taken in their order by whatever is idle, each as long as its march.
Index time_of(const Launch& launch, int most) {
    Index blocks = 0;
    for (const Marched& box : launch.boxes)
        for (int march = 0; march * box.length(most) < box.planes; march += box.per_block)
            blocks += box.tiles;
    Index waves = 0;
    for (; blocks > 0; blocks -= launch.at_once)
        ++waves;
    return waves * (most + launch.limits.warm_up);
}

/// The least of any allowed length of a box.
Index least_time(const Launch& launch) {
    const int planes = launch.boxes.front().planes;
    Index least = -1;
    for (int most = 1; most <= planes && most <= launch.limits.most; ++most) {
        const int length = launch.boxes.front().length(most);
        if (length < launch.limits.least && length < planes) continue;
        const Index time = time_of(launch, length);
        if (least < 0 || time < least) least = time;
    }
    return least;
}

/// Whether the marches of all boxes make every plane once, and none is empty.
bool cover(const Launch& launch, int most) {
    for (const Marched& box : launch.boxes) {
        const int length = box.length(most), marches = over(box.planes, length);
        const Index blocks = box.blocks(most);
        if (length > most || marches * length < box.planes || (marches - 1) * length >= box.planes) return false;
        if (blocks != Index{box.tiles} * ((marches + box.per_block - 1) / box.per_block)) return false;
    }
    return true;
}

/// Ask for two kernels on two devices, again and again, and count the questions that the driver gets.
bool ask() {
    int at_once = 0, again = 0;
    const std::int64_t before = subsalt_emulated_occupancy_questions();
    for (const int device : {0, 1, 0, 1}) {
        cudaSetDevice(device);
        for (const auto kernel : {nothing, nothing_else})
            if (blocks_at_once(kernel, 256, 60 << 10, &again) != cudaSuccess) return false;
        if (at_once != 0 && again != at_once) return false;
        at_once = again;
        // allowed there, and so on the device that runs it
        if (launch(nothing_else, 1, 256, 60 << 10, stream_of(device)) != cudaSuccess) return false;
    }
    std::printf("at_once %d\nasked %d\n", at_once, static_cast<int>(subsalt_emulated_occupancy_questions() - before));
    // the same kernel with another size is another question
    if (blocks_at_once(nothing, 256, 30 << 10, &again) != cudaSuccess) return false;
    std::printf("smaller %d\n", again);
    if (blocks_at_once(nothing, 256, 60 << 10, &again) != cudaSuccess || again != at_once) return false;
    return launch(nothing, 1, 256, 60 << 10, stream_of(1)) == cudaSuccess;
}

} // namespace

int main() {
    if (!ask()) return 1;
    int soonest = 0, covered = 0, within = 0;
    constexpr int tried = 2000;
    for (int i = 0; i < tried; ++i) {
        const Launch one = random_launch(1), many = random_launch(drawn(2, 6));
        const int length = longest_march(one.boxes, one.limits, one.at_once);
        soonest += time_of(one, length) == least_time(one);
        const int of_many = longest_march(many.boxes, many.limits, many.at_once);
        covered += cover(one, length) && cover(many, of_many);
        within += of_many <= many.limits.most;
    }
    std::printf("soonest %d\ncovered %d\nwithin %d\ntried %d\n", soonest, covered, within, tried);
    return 0;
}
