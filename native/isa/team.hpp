// A team of threads for the duration of a segment. The only place where its threads start and end.
#pragma once

namespace subsalt {

/// Call `work(argument, thread, team)` on `threads` threads at once, or on as many as the system grants; returns when
/// all have returned.
void run_team(int threads, void (*work)(const void* argument, int thread, int team), const void* argument);

} // namespace subsalt
