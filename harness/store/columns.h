// Lists a row's columns once for naming, binding and loading. A row's description (rows.h) is a
// function template. It is called with a collector of names, a Binder or a Loader, so that exactly
// what is stored is loaded.
#pragma once

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "harness/judge/judge.h"
#include "harness/outcome/invariance.h"
#include "harness/problem/problem.h"
#include "harness/provider/status.h"
#include "harness/store/text.h"

namespace plumbline {

template <class Enum>
Enum parse_enumerator(const char* column, const std::string& text) {
  if (const auto value = parse<Enum>(text)) return *value;
  throw std::runtime_error(
      fmt::format("column {} holds '{}', a word that this program does not know", column, text));
}

class ColumnNames {
 public:
  static constexpr bool loading = false;
  void measured(bool) {}
  template <class T>
  void operator()(const char* column, const T&) {
    names.emplace_back(column);
  }
  template <class T>
  void unless_minus_one(const char* column, const T&) {
    names.emplace_back(column);
  }

  std::vector<std::string> names;
};

class Binder {
 public:
  static constexpr bool loading = false;
  explicit Binder(SQLite::Statement& statement, int first = 1)
      : statement_(statement), index_(first) {}

  int next() const { return index_; }  // the next parameter of the statement
  // If `yes` is false, the following columns are stored as NULL.
  void measured(bool yes) { measured_ = yes; }
  template <class T>
  void operator()(const char*, const T& value) {
    measured_ ? put(value) : statement_.bind(index_);
    ++index_;
  }
  // Stores -1 (unknown) as NULL.
  template <class T>
  void unless_minus_one(const char*, const T& value) {
    value == -1 ? statement_.bind(index_) : put(value);
    ++index_;
  }

 private:
  void put(const std::string& text) {
    // Most texts are empty, and copying "" would allocate.
    if (text.empty()) return statement_.bindNoCopy(index_, "");
    is_storable_text(text) ? statement_.bind(index_, text)
                           : statement_.bind(index_, storable_text(text));
  }
  // Stores NaN as +Inf, because SQLite would store NULL. Both exceed every limit, and the fault
  // counts tell them apart.
  void put(double value) {
    statement_.bind(index_, std::isnan(value) ? std::numeric_limits<double>::infinity() : value);
  }
  // Stores the numbers as little-endian bytes, the byte order of all supported hosts.
  template <class Number>
  void put(const std::vector<Number>& values) {
    statement_.bind(index_, values.empty() ? "" : static_cast<const void*>(values.data()),
                    static_cast<int>(values.size() * sizeof(Number)));
  }
  template <class T>
  void put(T value) {
    if constexpr (std::is_enum_v<T>) {
      statement_.bindNoCopy(index_, name(value).data());  // a string literal
    } else {
      statement_.bind(index_, static_cast<std::int64_t>(value));
    }
  }

  SQLite::Statement& statement_;
  int index_;
  bool measured_ = true;
};

class Loader {
 public:
  static constexpr bool loading = true;
  explicit Loader(SQLite::Statement& statement, int first = 0)
      : statement_(statement), index_(first) {}

  void measured(bool) {}  // not needed: NULL leaves a value unchanged
  template <class T>
  void operator()(const char* column, T& value) {
    const SQLite::Column stored = statement_.getColumn(index_++);
    if (!stored.isNull()) get(column, stored, value);
  }
  template <class T>
  void unless_minus_one(const char* column, T& value) {
    value = -1;
    (*this)(column, value);
  }

 private:
  static void get(const char*, const SQLite::Column& stored, std::string& text) {
    text = stored.getString();
  }
  static void get(const char*, const SQLite::Column& stored, double& value) {
    value = stored.getDouble();
  }
  template <class Number>
  static void get(const char*, const SQLite::Column& stored, std::vector<Number>& values) {
    values.resize(static_cast<std::size_t>(stored.getBytes()) / sizeof(Number));
    if (!values.empty())
      std::memcpy(values.data(), stored.getBlob(), values.size() * sizeof(Number));
  }
  template <class T>
  static void get(const char* column, const SQLite::Column& stored, T& value) {
    if constexpr (std::is_enum_v<T>) {
      value = parse_enumerator<T>(column, stored.getString());
    } else {
      value = static_cast<T>(stored.getInt64());
    }
  }

  SQLite::Statement& statement_;
  int index_;
};

}  // namespace plumbline
