// Compresses with zlib (gzip) and encodes as base64 (RFC 4648).
#include "harness/report/page_file.h"

#include <zlib.h>

#include <cstdint>
#include <vector>

namespace plumbline {
namespace {

constexpr std::string_view place = "@PLUMBLINE_DATA@";
constexpr int gzip_format = 15 + 16;  // the largest window, with a gzip header
constexpr int memory_level = 9;

std::string gzip(std::string_view text) {
  z_stream stream{};
  // deflateInit2 and deflate can fail only for lack of memory.
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, gzip_format, memory_level,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    return "";
  std::string result(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  const bool done = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  result.resize(done ? stream.total_out : 0);
  deflateEnd(&stream);
  return result;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t three = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      const bool there = i + k < bytes.size();
      three = three << 8U | (there ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      const bool there = i + k < bytes.size() + 1;
      text += there ? digits[three >> (18 - 6 * k) & 63U] : '=';
    }
  }
  return text;
}

}  // namespace

Result<std::string> page_with_data(std::string_view page_template, std::string_view json) {
  const std::size_t at = page_template.find(place);
  if (at == std::string_view::npos) {
    return fail("the page's template has no place for data",
                "build plumbline again: the target plumbline_page makes it");
  }
  const std::string compressed = gzip(json);
  if (compressed.empty()) return fail("the page's data could not be compressed", "free memory");
  std::string page(page_template.substr(0, at));
  page += base64(compressed);
  page += page_template.substr(at + place.size());
  return page;
}

}  // namespace plumbline
