#include "tuner/backend/cuda/cubin.h"

#include "tuner/core/error.h"

#include <gtest/gtest.h>

#include <cstring>
#include <elf.h>
#include <string>
#include <vector>

namespace smemtune::cuda {
namespace {

struct Section {
  std::string name;
  std::string content;
  Elf64_Word type = SHT_PROGBITS;
  Elf64_Word link = 0;
  Elf64_Xword flags = 0;
};

// Returns an ELF file with the given sections, as far as cubin_facts reads one.
std::vector<std::uint8_t> elf(const std::vector<Section>& sections) {
  std::string names(1, '\0');
  std::string contents;
  std::vector<Elf64_Shdr> headers;
  for (const auto& [name, content, type, link, flags] : sections) {
    Elf64_Shdr header = {};
    header.sh_type = type;
    header.sh_link = link;
    header.sh_flags = flags;
    header.sh_name = static_cast<Elf64_Word>(names.size());
    header.sh_offset = sizeof(Elf64_Ehdr) + contents.size();
    header.sh_size = content.size();
    names += name + '\0';
    contents += content;
    headers.push_back(header);
  }
  Elf64_Shdr names_header = {};
  names_header.sh_offset = sizeof(Elf64_Ehdr) + contents.size();
  names_header.sh_size = names.size();
  contents += names;
  headers.push_back(names_header);

  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_shoff = sizeof(Elf64_Ehdr) + contents.size();
  header.e_shnum = static_cast<Elf64_Half>(headers.size());
  header.e_shstrndx = static_cast<Elf64_Half>(headers.size() - 1);

  std::vector<std::uint8_t> image(header.e_shoff + headers.size() * sizeof(Elf64_Shdr));
  std::memcpy(image.data(), &header, sizeof(header));
  std::memcpy(image.data() + sizeof(header), contents.data(), contents.size());
  std::memcpy(image.data() + header.e_shoff, headers.data(), headers.size() * sizeof(Elf64_Shdr));
  return image;
}

TEST(CubinFacts, ReadsConstantBytesAndLaunchBounds) {
  using namespace std::string_literals;
  const auto image = elf({{".nv.constant3", std::string(40, 'c')},
                          {".nv.constant0.k", std::string(528, 'c')},
                          {".nv.info.k",
                           "\3\x1b\xff\0"          // a value in place
                           "\4\x37\4\0\x82\0\0\0"  // four bytes of something else
                           "\4\5\x0c\0\x20\0\0\0\4\0\0\0\2\0\0\0"s},  // 32 x 4 x 2 threads
                          {".nv.info.free", "\3\x1b\xff\0"s}});
  const CubinFacts facts = cubin_facts(image, 90);
  EXPECT_EQ(facts.constant_bytes, 40);
  ASSERT_EQ(facts.max_threads_per_block.size(), 1u);
  EXPECT_EQ(facts.max_threads_per_block.at("k"), 256);
}

TEST(CubinFacts, HashesTheCodeOfEachKernelWhateverItsName) {
  const auto hashes = [](const std::vector<Section>& sections) {
    return cubin_facts(elf(sections), 90).code_sha256;
  };
  const auto both = hashes({{".text.a", "code"}, {".text.b", "code"}, {".nv.constant3", "cc"}});
  EXPECT_EQ(both.at("a"), both.at("b"));
  EXPECT_EQ(both.at("a"), hashes({{".text.c", "code"}, {".nv.constant3", "cc"}}).at("c"));
  EXPECT_NE(both.at("a"), hashes({{".text.a", "cope"}, {".nv.constant3", "cc"}}).at("a"));
  EXPECT_NE(both.at("a"), hashes({{".text.a", "code"}, {".nv.constant3", "cd"}}).at("a"));
  const auto tables = hashes({{".text.a", "code"},
                              {".text.b", "code"},
                              {".nv.constant2.a", "1"},
                              {".nv.constant2.b", "2"}});
  EXPECT_NE(tables.at("a"), tables.at("b"));
}

template <typename T>
std::string bytes(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

// A module whose kernel uses a variable with that name, place and first value.
std::vector<std::uint8_t> with_a_variable(const std::string& name, Elf64_Addr place,
                                          const std::string& value) {
  Elf64_Sym symbol = {};
  symbol.st_name = 1;
  symbol.st_info = ELF64_ST_INFO(STB_LOCAL, STT_OBJECT);
  symbol.st_value = place;
  const Elf64_Rela relocation = {.r_offset = 0, .r_info = ELF64_R_INFO(1, 2), .r_addend = 0};
  return elf({{".strtab", '\0' + name + '\0'},
              {".symtab", bytes(Elf64_Sym{}) + bytes(symbol), SHT_SYMTAB, 0},
              {".text.k", "code", SHT_PROGBITS, 0, SHF_ALLOC},
              {".nv.constant4", std::string(8, '\0'), SHT_PROGBITS, 0, SHF_ALLOC},
              {".nv.global.init", value, SHT_PROGBITS, 0, SHF_ALLOC},
              {".rela.nv.constant4", bytes(relocation), SHT_RELA, 1}});
}

TEST(CubinFacts, HashesCodeThatUsesVariablesWithThem) {
  const auto hash = [](const std::string& name, Elf64_Addr place, const std::string& value) {
    return cubin_facts(with_a_variable(name, place, value), 90).code_sha256.at("k");
  };
  const std::string is = hash("_ZN26_INTERNAL_0_4_k_cu_1_123452ns1xE", 0, "1.0f");
  EXPECT_EQ(is, hash("_ZN28_INTERNAL_0_4_k_cu_1_12345672ns1xE", 0, "1.0f"))
      << "only the number of the compiling process differs";
  EXPECT_NE(is, hash("_ZN26_INTERNAL_0_4_k_cu_1_123452ns1yE", 0, "1.0f"));
  EXPECT_NE(is, hash("_ZN26_INTERNAL_0_4_k_cu_1_123452ns1xE", 4, "1.0f"));
  EXPECT_NE(is, hash("_ZN26_INTERNAL_0_4_k_cu_1_123452ns1xE", 0, "2.0f"));
  EXPECT_NE(hash("_INTERNAL_0", 0, ""), hash("_INTERNAL_1", 0, "")) << "no name of a file";
}

TEST(CubinFacts, SaysNothingOfCodeThatTheDriverRelocatesInOtherWays) {
  const auto hashes = [](const std::string& relocations) {
    return cubin_facts(elf({{".text.a", "code"}, {relocations, "x"}}), 90).code_sha256;
  };
  EXPECT_TRUE(hashes(".rela.text.a").empty());
  EXPECT_TRUE(hashes(".rel.text.debug_a").empty());
  EXPECT_TRUE(hashes(".rela").empty());
  EXPECT_FALSE(hashes(".rela.debug_line").empty());
  EXPECT_FALSE(hashes(".rel.nv_debug_line_sass").empty());
  const Elf64_Rela relocation = {};
  EXPECT_TRUE(cubin_facts(elf({{".symtab", bytes(Elf64_Sym{})},
                               {".text.a", "code", SHT_PROGBITS, 0, SHF_ALLOC},
                               {".rela.text.a", bytes(relocation), SHT_RELA, 0},
                               {".nv.uft", "table", SHT_PROGBITS, 0, SHF_ALLOC}}),
                          90)
                  .code_sha256.empty())
      << "a loaded section that is not known";
}

TEST(CubinFacts, RefusesWhatIsNoCubinOrCutShort) {
  EXPECT_THROW(cubin_facts({}, 90), UnavailableError);
  const std::vector<std::uint8_t> zeros(200);
  EXPECT_THROW(cubin_facts(zeros, 90), UnavailableError);
  auto image = elf({{".nv.constant3", "0123"}});
  image.resize(image.size() - 1);
  EXPECT_THROW(cubin_facts(image, 90), UnavailableError);
}

}  // namespace
}  // namespace smemtune::cuda
