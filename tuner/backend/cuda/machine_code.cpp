#include "tuner/backend/cuda/machine_code.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace smemtune::cuda {
namespace {

// The place where an instruction says how many bytes each thread moves.
enum class Width { none, size, matrices, words, bytes_32 };

struct Operation {
  unsigned opcode = 0;  // The low 9 bits; the next 3 tell registers from constants and immediates.
  const char* kind = "other";
  Width width = Width::none;
  bool is_work = false;  // Computes on data or moves it, rather than finds out where and when.
  int from = 70;         // Compute capabilities that have it.
  int to = 121;
};

constexpr bool kWork = true;

constexpr Operation kOperations[] = {
    {0x023, "fp32_fma", Width::none, kWork},               // FFMA
    {0x020, "fp32", Width::none, kWork},                   // FMUL
    {0x021, "fp32", Width::none, kWork},                   // FADD
    {0x008, "fp32", Width::none, kWork},                   // FSEL
    {0x009, "fp32", Width::none, kWork},                   // FMNMX
    {0x00a, "fp32", Width::none, kWork},                   // FSET
    {0x00b, "fp32", Width::none, kWork},                   // FSETP
    {0x076, "fp32", Width::none, kWork, 100},              // FMNMX3
    {0x102, "fp32", Width::none, kWork},                   // FCHK
    {0x049, "fp32_fma_2", Width::none, kWork, 100, 119},   // FFMA2
    {0x04a, "fp32", Width::none, kWork, 100, 119},         // FMUL2
    {0x04b, "fp32", Width::none, kWork, 100, 119},         // FADD2
    {0x028, "fp64", Width::none, kWork},                   // DMUL
    {0x029, "fp64", Width::none, kWork},                   // DADD
    {0x02a, "fp64", Width::none, kWork},                   // DSETP
    {0x02b, "fp64", Width::none, kWork},                   // DFMA
    {0x030, "fp16", Width::none, kWork},                   // HADD2
    {0x031, "fp16", Width::none, kWork},                   // HFMA2
    {0x032, "fp16", Width::none, kWork},                   // HMUL2
    {0x033, "fp16", Width::none, kWork},                   // HSET2
    {0x034, "fp16", Width::none, kWork},                   // HSETP2
    {0x035, "fp16", Width::none, kWork, 70, 119},          // HFMA2.MMA, also loads immediates
    {0x040, "fp16", Width::none, kWork},                   // HMNMX2
    {0x036, "tensor", Width::none, kWork, 70, 79},         // HMMA.884
    {0x037, "tensor", Width::none, kWork},                 // IMMA
    {0x03c, "tensor", Width::none, kWork},                 // HMMA
    {0x03d, "tensor", Width::none, kWork},                 // BMMA
    {0x03f, "tensor", Width::none, kWork},                 // DMMA
    {0x1f0, "tensor", Width::none, kWork, 90},             // HGMMA
    {0x1f1, "tensor", Width::none, kWork, 90},             // IGMMA
    {0x1f3, "tensor", Width::none, kWork, 90},             // QGMMA
    {0x07a, "tensor", Width::none, kWork, 120},            // QMMA
    {0x07f, "tensor", Width::none, kWork, 120},            // OMMA
    {0x1ea, "tensor", Width::none, kWork, 100, 119},       // UTCHMMA and other types
    {0x1e7, "tensor_memory", Width::none, kWork, 100},     // UTCCP
    {0x1ed, "tensor_memory", Width::none, kWork, 100},     // STTM
    {0x1ee, "tensor_memory", Width::none, kWork, 100},     // LDTM
    {0x108, "special_function", Width::none, kWork},       // MUFU
    {0x00c, "integer"},                                    // ISETP
    {0x010, "integer"},                                    // IADD3
    {0x035, "integer", Width::none, false, 120},           // IADD
    {0x011, "integer"},                                    // LEA
    {0x012, "integer"},                                    // LOP3
    {0x013, "integer"},                                    // IABS
    {0x014, "integer"},                                    // VABSDIFF
    {0x015, "integer"},                                    // VABSDIFF4
    {0x017, "integer"},                                    // IMNMX
    {0x019, "integer"},                                    // SHF
    {0x01a, "integer"},                                    // SGXT
    {0x01b, "integer"},                                    // BMSK
    {0x01c, "integer"},                                    // PLOP3
    {0x024, "integer"},                                    // IMAD, also moves
    {0x025, "integer"},                                    // IMAD.WIDE
    {0x026, "integer"},                                    // IDP
    {0x027, "integer"},                                    // IMAD.HI
    {0x036, "integer", Width::none, false, 90},            // VIADD
    {0x046, "integer", Width::none, false, 90},            // VIADDMNMX
    {0x048, "integer", Width::none, false, 90},            // VIMNMX
    {0x100, "integer"},                                    // FLO
    {0x101, "integer"},                                    // BREV
    {0x109, "integer"},                                    // POPC
    {0x08c, "integer"},                                    // UISETP
    {0x090, "integer"},                                    // UIADD3
    {0x091, "integer"},                                    // ULEA
    {0x092, "integer"},                                    // ULOP3
    {0x097, "integer"},                                    // UIADD3.64
    {0x099, "integer"},                                    // USHF
    {0x09c, "integer"},                                    // UPLOP3
    {0x0a4, "integer"},                                    // UIMAD
    {0x0a5, "integer"},                                    // UIMAD.WIDE
    {0x0a6, "integer"},                                    // UIMAD.HI
    {0x0bd, "integer"},                                    // UFLO
    {0x085, "integer", Width::none, false, 120},           // UIMNMX
    {0x04a, "integer", Width::none, false, 120},           // UVIMNMX
    {0x038, "convert"},                                    // I2I
    {0x039, "convert"},                                    // I2IP
    {0x03e, "convert"},                                    // F2FP
    {0x043, "convert"},                                    // F2IP
    {0x045, "convert"},                                    // I2FP
    {0x104, "convert"},                                    // F2F
    {0x105, "convert"},                                    // F2I
    {0x106, "convert"},                                    // I2F
    {0x107, "convert"},                                    // FRND
    {0x110, "convert"},                                    // F2F of 64 bits
    {0x111, "convert"},                                    // F2I of 64 bits
    {0x112, "convert"},                                    // I2F of 64 bits
    {0x113, "convert"},                                    // FRND of 64 bits
    {0x05a, "convert", Width::none, false, 120},           // UI2F
    {0x05c, "convert", Width::none, false, 120},           // UF2I
    {0x05e, "convert", Width::none, false, 120},           // UI2FP
    {0x002, "move"},                                       // MOV
    {0x003, "move"},                                       // P2R
    {0x004, "move"},                                       // R2P
    {0x005, "move"},                                       // CS2R
    {0x007, "move"},                                       // SEL
    {0x016, "move"},                                       // PRMT
    {0x03a, "move"},                                       // MOVM
    {0x082, "move"},                                       // UMOV
    {0x087, "move"},                                       // USEL
    {0x096, "move"},                                       // UPRMT
    {0x0ca, "move"},                                       // R2UR
    {0x1c2, "move"},                                       // R2UR
    {0x119, "move"},                                       // S2R
    {0x11c, "move"},                                       // B2R
    {0x1c3, "move"},                                       // S2UR
    {0x006, "shuffle"},                                    // VOTE
    {0x02f, "shuffle"},                                    // ELECT
    {0x086, "shuffle"},                                    // VOTEU
    {0x189, "shuffle"},                                    // SHFL
    {0x1a1, "shuffle"},                                    // MATCH
    {0x1c4, "shuffle"},                                    // REDUX
    {0x11d, "barrier"},                                    // BAR
    {0x1c7, "barrier"},                                    // UCGABAR
    {0x1a7, "mbarrier"},                                   // SYNCS
    {0x1b1, "mbarrier"},                                   // SYNCS
    {0x1b2, "mbarrier"},                                   // SYNCS
    {0x1e9, "mbarrier", Width::none, false, 100},          // UTCBAR
    {0x02d, "ordering"},                                   // PREEXIT
    {0x02e, "ordering"},                                   // ACQBULK
    {0x11a, "ordering"},                                   // DEPBAR
    {0x18f, "ordering"},                                   // CCTL
    {0x192, "ordering"},                                   // MEMBAR
    {0x1ab, "ordering"},                                   // ERRBAR, CGAERRBAR
    {0x1af, "ordering"},                                   // LDGDEPBAR
    {0x1b7, "ordering"},                                   // UTMACMDFLUSH
    {0x1b9, "ordering"},                                   // UTMACCTL
    {0x1c5, "ordering"},                                   // WARPGROUP
    {0x1c6, "ordering"},                                   // FENCE
    {0x1c8, "ordering"},                                   // USETMAXREG
    {0x11b, "branch"},                                     // ENDCOLLECTIVE
    {0x141, "branch"},                                     // BSYNC
    {0x142, "branch"},                                     // BREAK
    {0x145, "branch"},                                     // BSSY
    {0x146, "branch"},                                     // YIELD
    {0x147, "branch"},                                     // BRA
    {0x148, "branch"},                                     // WARPSYNC
    {0x149, "branch"},                                     // BRX
    {0x14d, "branch"},                                     // EXIT
    {0x150, "branch"},                                     // RET
    {0x15d, "branch"},                                     // NANOSLEEP
    {0x143, "call"},                                       // CALL.ABS
    {0x144, "call"},                                       // CALL.REL
    {0x181, "global_load", Width::size, kWork},            // LDG
    {0x186, "global_store", Width::size, kWork},           // STG
    {0x17e, "global_load", Width::bytes_32, kWork, 100},   // LDG.256
    {0x17f, "global_store", Width::bytes_32, kWork, 100},  // STG.256
    {0x180, "generic_load", Width::size, kWork},           // LD
    {0x185, "generic_store", Width::size, kWork},          // ST
    {0x184, "shared_load", Width::size, kWork},            // LDS
    {0x03b, "shared_load", Width::matrices, kWork},        // LDSM
    {0x188, "shared_store", Width::size, kWork},           // STS
    {0x044, "shared_store", Width::matrices, kWork, 90},   // STSM
    {0x1bd, "cluster_store", Width::size, kWork, 90},      // STAS
    {0x183, "local_load", Width::size, kWork},             // LDL
    {0x187, "local_store", Width::size, kWork},            // STL
    {0x182, "constant_load", Width::size},                 // LDC
    {0x0b9, "constant_load", Width::size},                 // ULDC
    {0x1ac, "constant_load", Width::size, false, 100},     // LDCU
    {0x1ae, "async_copy", Width::size, kWork, 70, 90},     // LDGSTS
    {0x1ae, "async_copy", Width::words, kWork, 100},       // LDGSTS
    {0x1b4, "bulk_copy", Width::none, kWork, 90},          // UTMALDG
    {0x1b5, "bulk_copy", Width::none, kWork, 90},          // UTMASTG
    {0x1ba, "bulk_copy", Width::none, kWork, 90},          // UBLKCP
    {0x18a, "generic_atomic", Width::none, kWork},         // ATOM
    {0x18b, "generic_atomic", Width::none, kWork},         // ATOM.CAS
    {0x1a2, "generic_atomic", Width::none, kWork},         // ATOM of two halves
    {0x18c, "shared_atomic", Width::none, kWork},          // ATOMS
    {0x18d, "shared_atomic", Width::none, kWork},          // ATOMS.CAS
    {0x18e, "global_atomic", Width::none, kWork},          // RED
    {0x1a3, "global_atomic", Width::none, kWork},          // ATOMG of two halves
    {0x1a6, "global_atomic", Width::none, kWork},          // RED of two halves
    {0x1a8, "global_atomic", Width::none, kWork},          // ATOMG
    {0x1a9, "global_atomic", Width::none, kWork},          // ATOMG.CAS
    {0x160, "texture", Width::none, kWork},                // TEX
    {0x161, "texture", Width::none, kWork},                // TEX
    {0x166, "texture", Width::none, kWork},                // TLD
    {0x167, "texture", Width::none, kWork},                // TLD
};

constexpr unsigned kOpcodeMask = 0x1ff;
constexpr unsigned kNop = 0x118;
constexpr unsigned kBranch = 0x147;
constexpr std::uint64_t kBytesPerInstruction = 16;
constexpr unsigned kAlways = 7;  // The predicate that is always true, and with the bit of negation
constexpr unsigned kNever = 15;  // always false.
constexpr int kOldestEncoding = 70;
constexpr int kNewestEncoding = 121;

const Operation& operation(std::uint64_t low, int capability) {
  static constexpr Operation kOther;
  // ptxas places such instructions between others that must not follow each other at once.
  static constexpr Operation kNeverRun = {.kind = "never_run"};
  const unsigned opcode = low & kOpcodeMask;
  if ((low >> 12 & 15) == kNever) return kNeverRun;
  const auto* const found = std::ranges::find_if(kOperations, [&](const Operation& one) {
    return one.opcode == opcode && one.from <= capability && capability <= one.to;
  });
  return found == std::end(kOperations) ? kOther : *found;
}

struct Instruction {
  unsigned opcode = 0;
  const Operation* operation = nullptr;
  int bytes = 0;  // Moved by each thread; 0 if it moves none, or does not say how many.
  bool is_predicated = false;
  std::optional<std::size_t> back_to;  // Number of an earlier instruction to which it branches.
};

int moved_bytes(const Operation& operation, std::uint64_t high) {
  constexpr std::array<int, 8> kBytes = {1, 1, 2, 2, 4, 8, 16, 16};
  constexpr std::array<int, 4> kBytesOfMatrices = {4, 8, 16, 16};
  switch (operation.width) {
    case Width::none:
      return 0;
    case Width::size:
      return kBytes[high >> 9 & 7];
    case Width::matrices:
      return kBytesOfMatrices[high >> 8 & 3];
    case Width::words:
      return 4 << (high >> 10 & 3);
    case Width::bytes_32:
      return 32;
  }
  return 0;
}

/// Returns the distance in bytes from the next instruction. From 9.0 on its lowest bits stand apart.
std::int64_t branch_distance(std::uint64_t low, std::uint64_t high, int capability) {
  std::uint64_t distance = low >> 34 | high << 30;
  unsigned bits = 48;
  if (capability >= 90) {
    distance = distance << 8 | (low >> 16 & 0xff);
    bits += 8;
  }
  const auto to_the_top = static_cast<std::int64_t>(distance << (64 - bits));
  return (to_the_top >> (64 - bits)) * 4;
}

std::vector<Instruction> decode(std::span<const std::uint8_t> code, int capability) {
  std::vector<Instruction> instructions;
  for (std::uint64_t at = 0; at + kBytesPerInstruction <= code.size(); at += kBytesPerInstruction) {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    std::memcpy(&low, code.data() + at, sizeof low);
    std::memcpy(&high, code.data() + at + sizeof low, sizeof high);
    Instruction one;
    one.opcode = low & kOpcodeMask;
    one.operation = &operation(low, capability);
    one.bytes = moved_bytes(*one.operation, high);
    one.is_predicated = (low >> 12 & 7) != kAlways;
    if (one.opcode == kBranch) {
      const auto here = static_cast<std::int64_t>(at);
      const std::int64_t target = here + 16 + branch_distance(low, high, capability);
      // The code ends with a branch to itself, which is never reached.
      if (0 <= target && target < here) one.back_to = static_cast<std::size_t>(target) / 16;
    }
    instructions.push_back(one);
  }
  return instructions;
}

using Code = std::span<const Instruction>;

std::ptrdiff_t work_in(Code code) {
  return std::ranges::count_if(code, [](const Instruction& one) { return one.operation->is_work; });
}

struct Loop {
  std::size_t first = 0;
  std::size_t last = 0;
  std::ptrdiff_t work = 0;

  Code of(Code code) const { return code.subspan(first, last - first + 1); }
};

/// Returns one for each instruction that is branched back to, up to the last such branch.
std::vector<Loop> loops_of(Code code) {
  std::map<std::size_t, std::size_t> last_by_first;
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (code[i].back_to) last_by_first[*code[i].back_to] = i;
  }
  std::vector<Loop> loops;
  for (const auto& [first, last] : last_by_first) {
    Loop loop = {.first = first, .last = last};
    loop.work = work_in(loop.of(code));
    loops.push_back(loop);
  }
  return loops;
}

/// Returns the loop with most work among those that have no loop within with a share of it: a loop
/// that only waits for a barrier does none, and the loop around it stays the inner one.
const Loop* main_loop(const std::vector<Loop>& loops) {
  constexpr std::ptrdiff_t kShare = 4;
  const Loop* best = nullptr;
  for (const Loop& loop : loops) {
    const bool is_outer = std::ranges::any_of(loops, [&](const Loop& inner) {
      return inner.first > loop.first && inner.last <= loop.last && inner.work > 0 &&
             inner.work * kShare >= loop.work;
    });
    if (!is_outer && loop.work > (best == nullptr ? 0 : best->work)) best = &loop;
  }
  return best;
}

void count(Code code, const std::string& prefix, Facts& facts) {
  for (const Instruction& one : code) {
    if (one.opcode == kNop) continue;
    ++facts[prefix + "instructions"];
    if (one.is_predicated) ++facts[prefix + "predicated"];
    std::string name = prefix + one.operation->kind;
    if (one.bytes > 0) name += "_" + std::to_string(one.bytes) + "_bytes";
    ++facts[name];
  }
}

}  // namespace

Facts machine_code_facts(std::span<const std::uint8_t> code, int capability) {
  if (capability < kOldestEncoding || capability > kNewestEncoding) return {};
  if (code.empty() || code.size() % kBytesPerInstruction != 0) return {};
  const std::vector<Instruction> instructions = decode(code, capability);
  const std::vector<Loop> loops = loops_of(instructions);
  Facts facts;
  count(instructions, kCodeFacts, facts);
  if (facts.empty()) return {};
  facts[std::string(kCodeFacts) + "loops"] = static_cast<double>(loops.size());
  if (const Loop* loop = main_loop(loops)) {
    count(loop->of(instructions), kMainLoopFacts, facts);
  }
  return facts;
}

}  // namespace smemtune::cuda
