// Samples of SEG-Y traces to float: byte order, format and delay in one pass over the bytes of a file.
//
//   out[i][late[i] + k] = value of sample k of the trace that begins at raw + at[i],   zero elsewhere in row i
//
// Each value is that of subsalt.io.segy.samples.decode, bit for bit: converted in double where float cannot hold it,
// and rounded once. IBM System/360: (-1)^s 16^(e - 64) f / 2^24, one sign bit, seven bits of exponent, 24 of fraction;
// the product is exact in double, and what float cannot hold becomes infinite.
//
// raw    bytes of the traces, with whatever lies between them
// at     (n) byte of the first sample of each trace
// late   (n) samples by which it begins after the row, or null; late + ns <= nt
// out    (n, nt) rows
// bad    (n) number of samples that are not finite; with zero_bad they become zero
//
// Bytes: those of the samples read once, 4 nt written.
#pragma once

#include <cstdint>

namespace subsalt::signal {

struct SampleRows {
    const uint8_t* raw;
    const int64_t* at;
    const int32_t* late;
    int64_t n;  // traces
    int64_t ns; // samples of a trace in the file
    int64_t nt; // samples of a row
};

// Bytes of a sample of a format (byte 3225); 0 for one that is not read.
int64_t sample_bytes(int code);

// `big`: the bytes of a sample come most significant first.
void decode_samples(const SampleRows& rows, int code, bool big, bool zero_bad, float* out, int32_t* bad);

} // namespace subsalt::signal
