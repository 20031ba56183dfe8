// Cells of a Store::Table as values, and values as SQL.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "harness/store/store.h"

namespace plumbline {

using TextRow = std::vector<std::optional<std::string>>;

// The text in single quotes, its own quotes doubled: what is stored is data, never SQL.
std::string sql_literal(const std::string& text);
// A JSON array of the texts as a literal, for json_each().
std::string sql_array(const std::vector<std::string>& texts);

std::string text_at(const TextRow& row, std::size_t column);  // "" for NULL
std::optional<double> number_at(const TextRow& row, std::size_t column);
bool is_one_at(const TextRow& row, std::size_t column);

// What `make` makes of each row of a query.
template <class Make>
auto rows_of(Store& store, const std::string& sql, Make make)
    -> Result<std::vector<decltype(make(TextRow()))>> {
  return store.query(sql).map([&](const Store::Table& table) {
    std::vector<decltype(make(TextRow()))> made;
    std::transform(table.rows.begin(), table.rows.end(), std::back_inserter(made), make);
    return made;
  });
}

}  // namespace plumbline
