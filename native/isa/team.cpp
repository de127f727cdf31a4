#include "isa/team.hpp"

#ifdef SUBSALT_STD_THREADS
// ThreadSanitizer does not see the synchronisation inside libgomp; it sees that of std::thread.
#include <thread>
#include <vector>
#else
#include <omp.h>
#endif

namespace subsalt {

void run_team(int threads, void (*work)(const void*, int, int), const void* argument) {
#ifdef SUBSALT_STD_THREADS
    std::vector<std::thread> others;
    for (int t = 1; t < threads; ++t)
        others.emplace_back(work, argument, t, threads);
    work(argument, 0, threads);
    for (std::thread& other : others)
        other.join();
#else
#pragma omp parallel num_threads(threads)
    work(argument, omp_get_thread_num(), omp_get_num_threads());
#endif
}

} // namespace subsalt
