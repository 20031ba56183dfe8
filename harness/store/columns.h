// Lists a row's columns once, for naming, binding and loading them alike. A row's description
// (rows.h) is a function called with something that collects the columns' names, binds their values
// to a statement, or loads them from one. So what is stored is what is loaded.
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

  int next() const { return index_; }  // of the statement's parameters
  // The columns from here on were measured, or are NULL.
  void measured(bool yes) { measured_ = yes; }
  template <class T>
  void operator()(const char*, const T& value) {
    measured_ ? put(value) : statement_.bind(index_);
    ++index_;
  }
  // -1 stands for unknown: NULL.
  template <class T>
  void unless_minus_one(const char*, const T& value) {
    value == -1 ? statement_.bind(index_) : put(value);
    ++index_;
  }

 private:
  void put(const std::string& text) {
    // most texts are, and a copy of "" is an allocation too
    if (text.empty()) return statement_.bindNoCopy(index_, "");
    is_storable_text(text) ? statement_.bind(index_, text)
                           : statement_.bind(index_, storable_text(text));
  }
  // SQLite would make NaN NULL. +Inf is outside every limit too, and the fault counts tell what it
  // was.
  void put(double value) {
    statement_.bind(index_, std::isnan(value) ? std::numeric_limits<double>::infinity() : value);
  }
  // Numbers as they lie in memory: little-endian, as plumbline's hosts are.
  template <class Number>
  void put(const std::vector<Number>& values) {
    statement_.bind(index_, values.empty() ? "" : static_cast<const void*>(values.data()),
                    static_cast<int>(values.size() * sizeof(Number)));
  }
  template <class T>
  void put(T value) {
    if constexpr (std::is_enum_v<T>) {
      statement_.bindNoCopy(index_, name(value).data());  // a literal
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

  void measured(bool) {}  // the columns themselves tell: NULL leaves a value as it is
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
