// CRC-32C (Castagnoli), the checksum of snapshots: iSCSI's, RFC 3720 appendix B.4; of "123456789" it is E3069283.
//
// crc(A B) = shift(crc(A), |B|) xor crc(B): with SSE 4.2 three parts of the data go through the crc32 instruction side
// by side (its result takes three cycles, a new one starts every cycle) and are joined by tables of that shift. Other
// processors take eight bytes at a time through tables (Kounavis and Berry 2008).
#pragma once

#include <cstddef>
#include <cstdint>

namespace subsalt {

// The checksum of n bytes; crc is that of the bytes before them, 0 at the start.
std::uint32_t crc32c(const void* data, std::size_t n, std::uint32_t crc = 0);

// The same by tables, on any processor.
std::uint32_t crc32c_by_tables(const void* data, std::size_t n, std::uint32_t crc = 0);

// Whether crc32c uses the instruction.
bool crc32c_in_hardware();

} // namespace subsalt
