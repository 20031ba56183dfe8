// Converts cells of a Store::Table to values, and values to SQL.
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

// Returns the text in single quotes, with quotes inside doubled, so that it cannot act as SQL.
std::string sql_literal(const std::string& text);
// Returns an SQL literal with the texts as a JSON array, for json_each().
std::string sql_array(const std::vector<std::string>& texts);

std::string text_at(const TextRow& row, std::size_t column);  // Returns "" for NULL.
std::optional<double> number_at(const TextRow& row, std::size_t column);
bool is_one_at(const TextRow& row, std::size_t column);

// Returns `make(row)` for each row of the query.
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
