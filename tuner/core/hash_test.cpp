#include "tuner/core/hash.h"

#include "tuner/core/input_file.h"
#include "tuner/core/temporary_folder.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <set>

namespace smemtune {
namespace {

TEST(Sha256, EqualsTheExamplesOfTheStandard) {
  EXPECT_EQ("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", sha256(""));
  EXPECT_EQ("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", sha256("abc"));
  EXPECT_EQ("248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
            sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"));
  EXPECT_EQ("cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1",
            sha256("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmno"
                   "ijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"));
  EXPECT_EQ("cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
            sha256(std::string(1'000'000, 'a')));
}

// 55 bytes are the most that leave room for the length in the same block.
TEST(Sha256, PadsRightAroundTheBlockSize) {
  EXPECT_EQ("9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318",
            sha256(std::string(55, 'a')));
  EXPECT_EQ("b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a",
            sha256(std::string(56, 'a')));
  EXPECT_EQ("ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb",
            sha256(std::string(64, 'a')));
}

TEST(Sha256, OfAFileIsThatOfItsBytes) {
  const TemporaryFolder folder;
  for (const std::size_t size : {0u, 1u, 64u, 65535u, 65536u, 65537u, 200000u}) {
    const std::string bytes(size, 'x');
    folder.write("file", bytes);
    InputFile file(folder.path() / "file");
    EXPECT_EQ(sha256(bytes), sha256(file)) << size;
  }
}

TEST(Sha256, ReadsBytesBehindAZero) {
  EXPECT_NE(sha256(std::string_view("a\0b", 3)), sha256(std::string_view("a\0c", 3)));
}

TEST(Crc32, EqualsTheCheckValueOfThePolynomial) {
  constexpr std::string_view kText = "123456789";
  const std::span<const std::uint8_t> bytes(reinterpret_cast<const std::uint8_t*>(kText.data()),
                                            kText.size());
  EXPECT_EQ(0xCBF43926u, crc32(bytes));
  EXPECT_EQ(0u, crc32({}));
}

// Expected values: the first three outputs of SplitMix64 with the state 1234567.
TEST(RandomBits, CountThroughSplitMix64) {
  EXPECT_EQ(6457827717110365317u, random_bits(1234567, 0));
  EXPECT_EQ(3203168211198807973u, random_bits(1234567, 1));
  EXPECT_EQ(9817491932198370423u, random_bits(1234567, 2));
}

TEST(RandomBits, DoNotRepeatWithinAStream) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t i = 0; i < 10'000; ++i) seen.insert(random_bits(7, i));
  EXPECT_EQ(10'000u, seen.size());
}

}  // namespace
}  // namespace smemtune
