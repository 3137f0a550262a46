#include "tuner/backend/npy_file.h"

#include "tuner/core/error.h"
#include "tuner/core/input_file.h"
#include "tuner/core/text.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

namespace smemtune {
namespace {

std::string shape_text(const std::vector<std::int64_t>& shape) {
  if (shape.empty()) return "no dimensions";
  return joined(shape, " x ", [](std::int64_t extent) { return std::to_string(extent); });
}

/// The header of a .npy file, which describes the array.
struct NpyHeader {
  std::string descr;  ///< `<f4`: byte order, kind and size.
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

/// Parses the Python dictionary of a .npy header:
/// {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class NpyHeaderParser {
 public:
  NpyHeaderParser(std::string_view text, std::string file) : rest_(text), file_(std::move(file)) {}

  NpyHeader parse() {
    NpyHeader header;
    bool has_descr = false;
    bool has_order = false;
    bool has_shape = false;
    expect('{');
    while (!take('}')) {
      const std::string name = quoted();
      expect(':');
      if (name == "descr") {
        header.descr = quoted();
        has_descr = true;
      } else if (name == "fortran_order") {
        header.fortran_order = boolean();
        has_order = true;
      } else if (name == "shape") {
        header.shape = tuple();
        has_shape = true;
      } else {
        fail("unknown key '" + name + "'");
      }
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    if (!has_descr || !has_order || !has_shape) {
      fail("descr, fortran_order and shape are needed");
    }
    return header;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw InputError(file_ + ": not a .npy file of numbers: " + what);
  }

  void skip_spaces() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n')) {
      rest_.remove_prefix(1);
    }
  }

  bool take(char c) {
    skip_spaces();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void expect(char c) {
    if (!take(c))
      fail("its header has no '" + std::string(1, c) + "' before \"" +
           std::string(rest_.substr(0, 20)) + "\"");
  }

  std::string quoted() {
    const char quote = take('"') ? '"' : '\'';
    if (quote == '\'') expect('\'');
    const std::size_t end = rest_.find(quote);
    if (end == std::string_view::npos) fail("a string in its header is not closed");
    std::string text(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return text;
  }

  bool boolean() {
    skip_spaces();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (rest_.substr(0, word.size()) == word) {
        rest_.remove_prefix(word.size());
        return value;
      }
    }
    fail("fortran_order is neither True nor False");
  }

  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> numbers;
    expect('(');
    while (!take(')')) {
      numbers.push_back(number());
      if (!take(',')) {
        expect(')');
        break;
      }
    }
    return numbers;
  }

  std::int64_t number() {
    skip_spaces();
    std::int64_t value = 0;
    std::size_t digits = 0;
    while (digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9') {
      if (digits == 18) fail("a dimension has more than 18 digits");
      value = 10 * value + (rest_[digits] - '0');
      ++digits;
    }
    if (digits == 0) fail("a dimension is not a number");
    rest_.remove_prefix(digits);
    return value;
  }

  std::string_view rest_;
  std::string file_;
};

/// Returns the code of a type in .npy files, without the byte order. NumPy itself has neither
/// bfloat16 nor floats of 8 bits; arrays of the ml_dtypes package are stored as opaque bytes.
std::string npy_kind(ScalarType type) {
  const bool is_opaque = type == ScalarType::float8_e4m3 || type == ScalarType::bfloat16;
  const bool is_unsigned = std::string_view(cuda_name(type)).starts_with("u");
  const char kind = is_opaque ? 'V' : is_floating(type) ? 'f' : is_unsigned ? 'u' : 'i';
  return kind + std::to_string(size_of(type));
}

bool holds(std::string_view descr, ScalarType type) {
  if (descr.size() != 3 || descr.substr(1) != npy_kind(type)) return false;
  const bool has_no_order = size_of(type) == 1 || type == ScalarType::bfloat16;
  return descr[0] == '<' || (has_no_order && descr[0] == '|');
}

std::filesystem::path place_of(const DataFile& file) {
  const char* const folder = std::getenv(kFilesVariable);
  if (folder == nullptr || file.sha256.empty()) return file.path;
  const std::filesystem::path copy = std::filesystem::path(folder) / file.sha256;
  return std::filesystem::exists(copy) ? copy : file.path;
}

/// A file with the elements of an argument, read up to where they begin.
class NpyFile {
 public:
  /// Throws InputError if the file does not hold elements of the argument's type, order and shape.
  explicit NpyFile(const Argument& argument)
      : file_(argument.init.file.path.string()), in_(place_of(argument.init.file)) {
    static_assert(std::endian::native == std::endian::little);
    if (argument.init.file.path.extension() != ".npy") return;  // Elements and nothing else.
    const NpyHeader header = NpyHeaderParser(header_text(), file_).parse();
    const std::string wanted =
        "argument " + argument.name + " (" + std::string(cuda_name(argument.type)) + ") needs ";
    if (!holds(header.descr, argument.type)) {
      throw InputError(file_ + ": elements of type '" + header.descr + "', " + wanted +
                       (size_of(argument.type) == 1 ? "'|" : "'<") +
                       std::string(npy_kind(argument.type)) + "'");
    }
    if (header.fortran_order) {
      throw InputError(file_ + ": in Fortran order, " + wanted + "C order");
    }
    std::vector<std::int64_t> two_sets = {2};
    two_sets.insert(two_sets.end(), argument.shape.begin(), argument.shape.end());
    if (header.shape == two_sets) {
      sets_ = 2;
    } else if (header.shape != argument.shape) {
      throw InputError(file_ + ": shape " + shape_text(header.shape) + ", " + wanted +
                       shape_text(argument.shape));
    }
  }

  int sets() const { return sets_; }

  /// Returns the elements of a set, which is `size` bytes long. Throws InputError if the file is
  /// shorter or longer than the argument.
  std::vector<std::uint8_t> read_set(int set, std::size_t size) {
    std::vector<std::uint8_t> bytes(size);
    std::vector<std::uint8_t> other(sets_ == 2 ? size : 0);
    for (int i = 0; i < sets_; ++i) {
      std::vector<std::uint8_t>& into = i == set ? bytes : other;
      const std::size_t count = in_.read({reinterpret_cast<char*>(into.data()), size});
      if (count == size) continue;
      throw InputError(
          file_ + ": ends after " + std::to_string(count + size * static_cast<std::size_t>(i)) +
          " of " + std::to_string(size * static_cast<std::size_t>(sets_)) + " bytes of elements");
    }
    if (char more = 0; reads(&more, 1)) {
      throw InputError(file_ + ": goes on after " +
                       std::to_string(size * static_cast<std::size_t>(sets_)) +
                       " bytes of elements");
    }
    return bytes;
  }

 private:
  /// Returns true if the file had `size` more bytes.
  bool reads(void* into, std::size_t size) {
    return in_.read({static_cast<char*>(into), size}) == size;
  }

  std::string header_text() {
    // Magic, version, and the header's length: two bytes in version 1, four in 2 and 3.
    std::array<unsigned char, 12> start{};
    constexpr std::string_view kMagic = "\x93NUMPY";
    if (!reads(start.data(), 8) || std::memcmp(start.data(), kMagic.data(), kMagic.size()) != 0) {
      throw InputError(file_ + ": not a .npy file: it does not begin with \\x93NUMPY");
    }
    const int version = start[6];
    if (version < 1 || version > 3) {
      throw InputError(file_ + ": .npy version " + std::to_string(version) +
                       ", versions 1 to 3 are supported");
    }
    const std::size_t length_bytes = version == 1 ? 2 : 4;
    const bool has_length = reads(start.data() + 8, length_bytes);
    std::size_t header_bytes = 0;
    for (std::size_t i = length_bytes; i > 0; --i) {
      header_bytes = header_bytes << 8 | start[7 + i];
    }
    constexpr std::size_t kMaxHeaderBytes = 1 << 16;  // Ours have at most 32 dimensions.
    if (!has_length || header_bytes > kMaxHeaderBytes) {
      throw InputError(file_ + ": not a .npy file of numbers: a header of " +
                       std::to_string(header_bytes) + " bytes");
    }
    std::string text(header_bytes, '\0');
    if (!reads(text.data(), text.size())) throw InputError(file_ + ": ends within its header");
    return text;
  }

  std::string file_;
  InputFile in_;
  int sets_ = 1;
};

}  // namespace

int npy_sets(const Argument& argument) { return NpyFile(argument).sets(); }

std::vector<std::uint8_t> read_npy(const Argument& argument) {
  NpyFile file(argument);
  const int set = argument.init.is_spread ? file.sets() - 1 : 0;
  return file.read_set(set, static_cast<std::size_t>(argument.bytes()));
}

}  // namespace smemtune
