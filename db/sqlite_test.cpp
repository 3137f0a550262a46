#include "db/sqlite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace smemtune::db {
namespace {

using testing::HasSubstr;

Connection in_memory() { return {":memory:", Connection::Mode::read_write, 0}; }

TEST(Statement, ReturnsWhatWasBound) {
  const Connection connection = in_memory();
  connection.execute("CREATE TABLE t (i INTEGER, r REAL, s TEXT, b BLOB) STRICT");
  const std::string text("a\0b'; DROP TABLE t --", 21);
  const std::vector<std::uint8_t> blob = {0, 1, 255};
  Statement insert(connection, "INSERT INTO t VALUES (:i, :r, :s, :b)");
  insert.bind(":i", std::numeric_limits<std::int64_t>::min())
      .bind(":r", 0.1)
      .bind(":s", text)
      .bind(":b", blob)
      .run();

  Statement select(connection, "SELECT * FROM t");
  ASSERT_TRUE(select.step());
  EXPECT_EQ(select.integer("i"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(select.real("r"), 0.1);
  EXPECT_EQ(select.text("s"), text);
  EXPECT_EQ(select.blob("b"), blob);
  EXPECT_FALSE(select.step());
}

TEST(Statement, StoresNaNAndAbsenceAsNull) {
  const Connection connection = in_memory();
  connection.execute("CREATE TABLE t (r REAL, s TEXT) STRICT");
  Statement(connection, "INSERT INTO t VALUES (:r, :s)")
      .bind(":r", std::nan(""))
      .bind(":s", std::optional<std::string>())
      .run();
  Statement select(connection, "SELECT * FROM t");
  ASSERT_TRUE(select.step());
  EXPECT_TRUE(select.is_null("r"));
  EXPECT_TRUE(std::isnan(select.real("r")));
  EXPECT_TRUE(select.is_null("s"));
  EXPECT_EQ(select.text("s"), "");
}

TEST(Statement, RunsAgainWithNewValues) {
  const Connection connection = in_memory();
  connection.execute("CREATE TABLE t (i INTEGER) STRICT");
  Statement insert(connection, "INSERT INTO t VALUES (:i)");
  for (int i = 1; i <= 3; ++i) insert.bind(":i", i).run();
  EXPECT_EQ(connection.integer("SELECT sum(i) FROM t"), 6);
}

TEST(Statement, NamesAnUnknownParameterOrColumn) {
  const Connection connection = in_memory();
  Statement select(connection, "SELECT :known AS answer");
  EXPECT_THROW(select.bind(":unknown", 1), std::logic_error);
  select.bind(":known", 42);
  ASSERT_TRUE(select.step());
  EXPECT_THROW(select.integer("question"), std::logic_error);
}

TEST(Statement, CountsWorkByThePlanAndNotByTheClock) {
  const Connection connection = in_memory();
  connection.execute(
      "CREATE TABLE t (i INTEGER) STRICT;"
      "INSERT INTO t SELECT value FROM json_each('[1,2,3,4,5,6,7,8,9,10]')");
  Statement scan(connection, "SELECT sum(i) FROM t");
  scan.run();
  const std::int64_t ten = scan.take_vm_steps();
  connection.execute("INSERT INTO t SELECT a.i FROM t AS a, t AS b");
  scan.run();
  EXPECT_GT(scan.take_vm_steps(), 5 * ten);
}

TEST(Connection, FailsOnAStringInDoubleQuotes) {
  EXPECT_THROW(Statement(in_memory(), "SELECT \"no such column\""), SqliteError);
}

TEST(Connection, RunsNoTriggersAndReadsNoViews) {
  const Connection connection = in_memory();
  connection.execute(
      "CREATE TABLE t (i INTEGER) STRICT;"
      "CREATE TRIGGER thief AFTER INSERT ON t BEGIN DELETE FROM t; END;"
      "CREATE VIEW v AS SELECT i FROM t;"
      "INSERT INTO t VALUES (1)");
  EXPECT_EQ(connection.integer("SELECT count(*) FROM t"), 1);
  EXPECT_THROW(connection.integer("SELECT count(*) FROM v"), SqliteError);
}

TEST(Connection, LetsNobodyRewriteTheSchema) {
  const Connection connection = in_memory();
  connection.execute("CREATE TABLE t (i INTEGER) STRICT; PRAGMA writable_schema = ON");
  EXPECT_THROW(connection.execute("UPDATE sqlite_schema SET sql = 'x'"), SqliteError);
}

TEST(Connection, LoadsNoExtensions) {
  const Connection connection = in_memory();
  try {
    connection.text("SELECT load_extension('anything')");
    FAIL();
  } catch (const SqliteError& error) {
    EXPECT_THAT(error.what(), HasSubstr("not authorized"));
  }
}

TEST(Connection, EndsAQuestionThatHasNoEnd) {
  try {
    in_memory().integer(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n");
    FAIL();
  } catch (const SqliteError& error) {
    EXPECT_THAT(error.what(), HasSubstr("reading it does not end"));
  }
}

TEST(Connection, KeepsNoValueOfMoreThan8MB) {
  const Connection connection = in_memory();
  EXPECT_EQ(connection.integer("SELECT length(zeroblob(1000000))"), 1000000);
  EXPECT_THROW(connection.integer("SELECT length(zeroblob(10000000))"), SqliteError);
}

TEST(Connection, NamesTheFileThatCannotBeOpened) {
  try {
    Connection("no/such/file.sqlite", Connection::Mode::read_write, 0);
    FAIL();
  } catch (const SqliteError& error) {
    EXPECT_THAT(error.what(), testing::StartsWith("no/such/file.sqlite: "));
  }
}

TEST(Transaction, IsUndoneUnlessCommitted) {
  const Connection connection = in_memory();
  connection.execute("CREATE TABLE t (i INTEGER) STRICT");
  {
    const Transaction abandoned(connection);
    connection.execute("INSERT INTO t VALUES (1)");
  }
  EXPECT_EQ(connection.integer("SELECT count(*) FROM t"), 0);
  {
    Transaction kept(connection);
    connection.execute("INSERT INTO t VALUES (2)");
    kept.commit();
  }
  EXPECT_EQ(connection.integer("SELECT count(*) FROM t"), 1);
  EXPECT_FALSE(connection.in_transaction());
}

}  // namespace
}  // namespace smemtune::db
