// Binds a key to a parameter of a statement, as the blob that it is stored as.
#pragma once

#include <SQLiteCpp/Statement.h>

#include "harness/store/keys.h"

namespace plumbline {

// `Bytes`: a Key, or a text that holds the bytes of one.
template <class Bytes>
void bind_key(SQLite::Statement& statement, int index, const Bytes& key) {
  statement.bind(index, static_cast<const void*>(key.data()), static_cast<int>(key.size()));
}

}  // namespace plumbline
