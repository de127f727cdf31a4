// CRC-32C (Castagnoli), the checksum of snapshots: iSCSI's, RFC 3720 appendix B.4; of "123456789" it is E3069283.
//
// Three ways, the first that the processor has. "products": carry-less products of 512 bits (AVX-512, VPCLMULQDQ).
// "instruction": SSE 4.2 has one for it; its result takes three cycles and a new one starts every cycle, so three parts
// of the data go side by side and are joined by crc(A B) = shift(crc(A), |B|) xor crc(B). "tables": eight bytes at a
// time (Kounavis and Berry 2008).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace subsalt {

// The checksum of n bytes; crc is that of the bytes before them, 0 at the start.
std::uint32_t crc32c(const void* data, std::size_t n, std::uint32_t crc = 0);

// The same in a given way, for tests.
std::uint32_t crc32c_by(const std::string& way, const void* data, std::size_t n, std::uint32_t crc);

// The ways that this processor has, the fastest first.
std::vector<std::string> crc32c_ways();

} // namespace subsalt
