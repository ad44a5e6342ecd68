// SPDX-License-Identifier: Apache-2.0
#include "config/coordinator_config.hpp"
#include "support/temporary_directory.hpp"
#include "unit/config/program_input.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace codeq::config {

using codeq::test::program_input;
using codeq::test::refusal;

namespace {

coordinator_config accepted(const program_input& input) {
  auto parsed = parse_coordinator(input.line());
  EXPECT_EQ(refusal(parsed), "");
  auto* config = std::get_if<coordinator_config>(&parsed);
  return config != nullptr ? *config : coordinator_config{};
}

std::string refused(const program_input& input) {
  auto text = refusal(parse_coordinator(input.line()));
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  return text;
}

class CoordinatorFile : public ::testing::Test {
protected:
  std::string write(const std::string& text) {
    auto path = directory_.path() / "codeq.toml";
    std::ofstream(path) << text;
    return path.string();
  }

private:
  test::temporary_directory directory_;
};

} // namespace

TEST(CoordinatorConfig, DefaultsAreThoseOfTheHelpText) {
  auto config = accepted({{"--data", "d", "--dev"}});

  EXPECT_EQ(config.node.data, "d");
  EXPECT_EQ(config.node.listen, "127.0.0.1:7400");
  EXPECT_EQ(config.node.shards, 0u);
  EXPECT_TRUE(config.node.sync);
  EXPECT_EQ(config.node.retention_bytes, 10'737'418'240u);
  EXPECT_TRUE(config.node.development);
  EXPECT_EQ(config.port_file, "");
  EXPECT_EQ(config.log_level, "info");
}

TEST(CoordinatorConfig, EveryFlagIsTaken) {
  auto config =
    accepted({{"--data=d",        "--dev",    "--listen",          "[::1]:0", "--shards",     "7",
               "--durability",    "os",       "--retention-bytes", "1048576", "--free-bytes", "0",
               "--enqueue-bytes", "67108864", "--threads",         "8",       "--port-file",  "p",
               "--log-level",     "debug"}});

  EXPECT_EQ(config.node.listen, "[::1]:0");
  EXPECT_EQ(config.node.shards, 7u);
  EXPECT_FALSE(config.node.sync);
  EXPECT_EQ(config.node.retention_bytes, 1'048'576u);
  EXPECT_EQ(config.node.free_bytes_least, 0u);
  EXPECT_EQ(config.node.enqueue_bytes_max, 67'108'864u);
  EXPECT_EQ(config.node.threads, 8u);
  EXPECT_EQ(config.port_file, "p");
  EXPECT_EQ(config.log_level, "debug");
}

TEST(CoordinatorConfig, WithoutTokensOrDevItSaysWhatToGive) {
  EXPECT_EQ(
    refused({{"--data", "d"}}),
    "codeq-coordinator: give --tokens FILE, --jwks FILE|URL, or --dev to run a single-user setup "
    "on loopback");
  EXPECT_EQ(
    refused({{"--data", "d", "--dev", "--tokens", "t"}}),
    "codeq-coordinator: --dev and --tokens exclude each other");
}

TEST(CoordinatorConfig, BackupsNeedADirectoryOfTheirOwn) {
  auto there = std::filesystem::current_path() / "d";
  for (const auto& backups : {std::string("d"), std::string("./d/"), there.string()})
    EXPECT_EQ(
      refused({{"--dev", "--data", "d", "--backup-dir", backups.c_str()}}),
      "codeq-coordinator: --backup-dir and --data name the same directory; backups need one of "
      "their own")
      << backups;
  EXPECT_EQ(accepted({{"--dev", "--data", "d", "--backup-dir", "e"}}).node.backups, "e");
}

TEST(CoordinatorConfig, MissingDataNamesAllThreePlaces) {
  EXPECT_EQ(
    refused({{"--dev"}}),
    "codeq-coordinator: --data is required (or CODEQ_DATA in the environment, "
    "or data in the file of --config)");
}

TEST(CoordinatorConfig, AnUnknownFlagIsNamedWithTheNearestOne) {
  EXPECT_EQ(
    refused({{"--dev", "--dat", "d"}}),
    "codeq-coordinator: unknown option `--dat`; did you mean `--data`? (see --help)");
  EXPECT_EQ(
    refused({{"--dev", "--dat=d"}}),
    "codeq-coordinator: unknown option `--dat`; did you mean `--data`? (see --help)");
  EXPECT_EQ(
    refused({{"--dev", "--frobnicate"}}),
    "codeq-coordinator: unknown option `--frobnicate` (see --help)");
  EXPECT_EQ(
    refused({{"--dev", "data"}}), "codeq-coordinator: unexpected argument `data` (see --help)");
}

TEST(CoordinatorConfig, NamesOfOtherProgramsAreKnown) {
  EXPECT_EQ(
    refused({{"--dev", "--data", "d", "--port", "1"}}),
    "codeq-coordinator: unknown option `--port`; did you mean `--listen`? (see --help)");
}

TEST(CoordinatorConfig, AnAddressThatIsNotLoopbackTakesTokensAndTls) {
  EXPECT_EQ(
    refused({{"--data", "d", "--dev", "--listen", "0.0.0.0:7400"}}),
    "codeq-coordinator: --listen: `0.0.0.0:7400` is not a loopback address; with --dev only "
    "127.0.0.0/8, [::1] and localhost are allowed");
  EXPECT_EQ(
    refused(
      {{"--data", "d", "--dev", "--listen", "0.0.0.0:7400", "--tls-cert", "c", "--tls-key", "k"}}),
    "codeq-coordinator: --listen: `0.0.0.0:7400` is not a loopback address; with --dev only "
    "127.0.0.0/8, [::1] and localhost are allowed");
  EXPECT_EQ(
    refused({{"--data", "d", "--tokens", "t", "--listen", "[::]:7400"}}),
    "codeq-coordinator: --listen: `[::]:7400` is not a loopback address; without --tls-cert and "
    "--tls-key only 127.0.0.0/8, [::1] and localhost are allowed");

  auto config = accepted(
    {{"--data",
      "d",
      "--tokens",
      "t",
      "--listen",
      "0.0.0.0:7400",
      "--tls-cert",
      "c",
      "--tls-key",
      "k"}});

  EXPECT_EQ(config.node.listen, "0.0.0.0:7400");
  EXPECT_EQ(config.node.tokens, "t");
  EXPECT_EQ(config.node.tls_key, "k");
}

TEST(CoordinatorConfig, AGatewayBeyondLoopbackTakesTokensAndTls) {
  EXPECT_EQ(
    refused({{"--data", "d", "--dev", "--http", "0.0.0.0:80"}}),
    "codeq-coordinator: --http: `0.0.0.0:80` is not a loopback address; with --dev only "
    "127.0.0.0/8, [::1] and localhost are allowed");
  EXPECT_EQ(
    refused({{"--data", "d", "--tokens", "t", "--http", "[::]:80"}}),
    "codeq-coordinator: --http: `[::]:80` is not a loopback address; without --tls-cert and "
    "--tls-key only 127.0.0.0/8, [::1] and localhost are allowed");
  EXPECT_EQ(
    refused({{"--data", "d", "--tokens", "t", "--http", "127.0.0.1:0", "--http-key", "k"}}),
    "codeq-coordinator: --http-cert and --http-key need each other");

  auto config = accepted(
    {{"--data",
      "d",
      "--tokens",
      "t",
      "--http",
      "0.0.0.0:80",
      "--http-cert",
      "c",
      "--http-key",
      "k"}});

  EXPECT_EQ(config.node.http, "0.0.0.0:80");
  EXPECT_EQ(config.node.http_certificate, "c");
}

TEST(CoordinatorConfig, TlsOptionsThatDoNotFitAreRefused) {
  EXPECT_EQ(
    refused({{"--data", "d", "--dev", "--tls-cert", "c"}}),
    "codeq-coordinator: --tls-cert and --tls-key need each other");
  EXPECT_EQ(
    refused({{"--data", "d", "--dev", "--tls-ca", "c"}}),
    "codeq-coordinator: --tls-ca needs --tls-cert and --tls-key");
  EXPECT_EQ(
    refused(
      {{"--data", "d", "--dev", "--tls-cert", "c", "--tls-key", "k", "--tls-require-client-cert"}}),
    "codeq-coordinator: --tls-require-client-cert needs --tls-ca");
}

TEST(CoordinatorConfig, JwtsNeedIssuerAndAudience) {
  auto config = accepted(
    {{"--data=d",
      "--jwks=https://issuer.test/keys",
      "--jwks-ca=ca",
      "--jwks-refresh=1m",
      "--jwks-stale=2h",
      "--jwt-issuer=https://issuer.test",
      "--jwt-audience=a",
      "--jwt-audience=b",
      "--jwt-claim=role=realm_access.roles",
      "--jwt-claim=tenant=https://claims.test/t",
      "--jwt-role=ops=admin",
      "--jwt-tenant=main"}});
  const auto& jwt = config.node.jwt;
  EXPECT_EQ(jwt.keys, "https://issuer.test/keys");
  EXPECT_EQ(jwt.authority, "ca");
  EXPECT_EQ(jwt.refresh, std::chrono::minutes(1));
  EXPECT_EQ(jwt.stale_after, std::chrono::hours(2));
  EXPECT_EQ(jwt.issuers, std::vector<std::string>{"https://issuer.test"});
  EXPECT_EQ(jwt.audiences, (std::vector<std::string>{"a", "b"}));
  using pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(
    jwt.claims, (pairs{{"role", "realm_access.roles"}, {"tenant", "https://claims.test/t"}}));
  EXPECT_EQ(jwt.roles, (pairs{{"ops", "admin"}}));
  EXPECT_EQ(jwt.tenant, "main");

  for (const char* one : {"--jwt-issuer=i", "--jwt-audience=a"})
    EXPECT_EQ(
      refused({{"--data=d", "--jwks=f", one}}),
      "codeq-coordinator: --jwks needs --jwt-issuer and --jwt-audience");
  EXPECT_EQ(
    refused({{"--data=d", "--dev", "--jwks=f"}}),
    "codeq-coordinator: --dev and --jwks exclude each other");
  EXPECT_EQ(
    refused({{"--data=d", "--jwks=f", "--jwt-claim=role"}}),
    "codeq-coordinator: --jwt-claim: `role` must be two texts with `=` between them");
  EXPECT_NE(
    refused({{"--data=d", "--jwks=f", "--jwks-refresh=10ms"}}).find("1s"), std::string::npos);
}

TEST(CoordinatorConfig, ErrorsNameOptionValueAndWhatIsAllowed) {
  EXPECT_EQ(
    refused({{"--data", "d", "--dev", "--shards", "2000"}}),
    "codeq-coordinator: --shards: `2000` is not a whole number from 1 to 1024");
  EXPECT_EQ(
    refused({{"--data", "d", "--dev", "--enqueue-bytes", "1000"}}),
    "codeq-coordinator: --enqueue-bytes: `1000` is not a whole number of bytes from "
    "67108864 to 18446744073709551615");
  EXPECT_EQ(
    refused({{"--data", "d", "--dev", "--free-bytes", "1GiB"}}),
    "codeq-coordinator: --free-bytes: `1GiB` is not a whole number of bytes from 0 to "
    "18446744073709551615");
  EXPECT_EQ(
    refused({{"--data", "d", "--dev", "--threads", "0"}}),
    "codeq-coordinator: --threads: `0` is not a whole number from 1 to 256");
  EXPECT_EQ(
    refused({{"--data", "d", "--dev", "--durability", "fast"}}),
    "codeq-coordinator: --durability: `fast` is not sync or os");
  EXPECT_EQ(
    refused({{"--data", "d", "--dev", "--shards", "2", "--shards", "3"}}),
    "codeq-coordinator: --shards: given 2 values; it takes exactly one");
}

TEST(CoordinatorConfig, AnUnknownFlagIsRefused) {
  EXPECT_NE(
    refused({{"--data", "d", "--dev", "--sharts", "2"}}).find("--sharts"), std::string::npos);
}

TEST(CoordinatorConfig, ABadEnvironmentValueNamesTheVariable) {
  EXPECT_EQ(
    refused({{"--data", "d", "--dev"}, {{"CODEQ_SHARDS", "x"}}}),
    "codeq-coordinator: CODEQ_SHARDS (environment): `x` is not a whole number from 1 to 1024");
  EXPECT_EQ(
    refused({{"--data", "d"}, {{"CODEQ_DEV", "yes"}}}),
    "codeq-coordinator: CODEQ_DEV (environment): `yes` is neither true nor false");
}

TEST(CoordinatorConfig, AnEmptyEnvironmentVariableCountsAsNotGiven) {
  auto config = accepted({{"--data", "d", "--dev"}, {{"CODEQ_SHARDS", ""}}});

  EXPECT_EQ(config.node.shards, 0u);
}

TEST_F(CoordinatorFile, FlagWinsOverEnvironmentAndEnvironmentOverFile) {
  auto file = write("data = \"file\"\nshards = 3\nlisten = \"127.0.0.3:3\"\ndev = true\n");
  program_input input(
    {"--config", file.c_str(), "--data", "flag"},
    {{"CODEQ_DATA", "environment"}, {"CODEQ_SHARDS", "2"}});

  auto config = accepted(input);

  EXPECT_EQ(config.node.data, "flag");
  EXPECT_EQ(config.node.shards, 2u);
  EXPECT_EQ(config.node.listen, "127.0.0.3:3");
  EXPECT_TRUE(config.node.development);
}

TEST_F(CoordinatorFile, TheFileMayBeNamedByTheEnvironment) {
  auto file = write("data = \"file\"\ndev = true\n");

  EXPECT_EQ(accepted({{}, {{"CODEQ_CONFIG", file}}}).node.data, "file");
}

TEST_F(CoordinatorFile, AnUnknownKeyIsNamed) {
  auto file = write("data = \"d\"\nshard = 3\n");

  EXPECT_EQ(
    refused({{"--dev", "--config", file.c_str()}}),
    "codeq-coordinator: --config " + file + ": unknown option `shard`; did you mean `shards`?");
}

TEST_F(CoordinatorFile, ABadValueNamesKeyAndFile) {
  auto file = write("data = \"d\"\nshards = 0\n");

  EXPECT_EQ(
    refused({{"--dev", "--config", file.c_str()}}),
    "codeq-coordinator: shards in " + file + ": `0` is not a whole number from 1 to 1024");
}

TEST_F(CoordinatorFile, WhatIsNotTomlNamesTheLine) {
  auto file = write("data = \"d\"\nshards = = 3\n");

  EXPECT_NE(refused({{"--dev", "--config", file.c_str()}}).find(": line 2: "), std::string::npos);
}

TEST_F(CoordinatorFile, TextWithoutQuotesAndATableAreExplained) {
  auto bare = write("data = \"d\"\nlog-level = info\n");
  EXPECT_NE(
    refused({{"--dev", "--config", bare.c_str()}})
      .find(": line 2: it is not TOML, in which text has quotes: "),
    std::string::npos);

  auto table = write("[coordinator]\nlog-level = \"info\"\n");
  EXPECT_EQ(
    refused({{"--dev", "--config", table.c_str()}}),
    "codeq-coordinator: --config " + table
      + ": [coordinator] is a table; options stand outside of tables");
}

TEST_F(CoordinatorFile, AFileThatIsMissingIsRefused) {
  EXPECT_EQ(
    refused({{"--dev", "--config", "/nonexistent/codeq.toml"}}),
    "codeq-coordinator: --config /nonexistent/codeq.toml: cannot be read: No such file or "
    "directory");
}

TEST(CoordinatorConfig, HelpShowsEveryOptionWithItsDefault) {
  auto parsed = parse_coordinator(program_input({"--help"}).line());

  const auto* end = std::get_if<exit_request>(&parsed);
  ASSERT_NE(end, nullptr);
  EXPECT_EQ(end->status, 0);
  for (const char* name :
       {"--data",
        "--listen",
        "--shards",
        "--durability",
        "--dev",
        "--config",
        "--port-file",
        "--log-level",
        "[default: sync]",
        "power cut"})
    EXPECT_NE(end->text.find(name), std::string::npos) << name << "\n" << end->text;
}

TEST(CoordinatorConfig, OriginsOfPagesAddUp) {
  auto config = accepted(
    {{"--data",
      "d",
      "--dev",
      "--http",
      "127.0.0.1:0",
      "--cors-origin",
      "https://app.example",
      "--cors-origin",
      "*"}});

  EXPECT_EQ(config.node.http_cors_origins, (std::vector<std::string>{"https://app.example", "*"}));
  for (const char* origin :
       {"http://localhost:3000", "https://[::1]", "https://[::1]:8443", "http://app.example:80"})
    EXPECT_EQ(
      accepted({{"--data=d", "--dev", "--http=127.0.0.1:0", "--cors-origin", origin}})
        .node.http_cors_origins.front(),
      origin);
}

TEST(CoordinatorConfig, OptionsThatWouldBeIgnoredAreRefused) {
  const std::map<std::string, std::vector<const char*>> useless{
    {"--http",
     {"--http-cert=c", "--http-key=k", "--http-port-file=p", "--http-connections=9",
      "--metrics=127.0.0.1:0", "--cors-origin=*", "--require-fencing-token",
      "--webhook-secret-file=s", "--webhook-ca=c", "--webhook-allow-private"}},
    {"--etcd", {"--cluster=c", "--etcd-ca=c", "--etcd-cert=c", "--etcd-key=k"}},
    {"--cluster",
     {"--etcd=http://127.0.0.1:2379", "--replicas=3", "--zone=z", "--advertise=h:1", "--node=n",
      "--cluster-token-file=t"}},
    {"--jwks",
     {"--jwks-ca=c", "--jwks-refresh=1m", "--jwks-stale=1h", "--jwt-issuer=i", "--jwt-audience=a",
      "--jwt-claim=role=r", "--jwt-role=ops=admin", "--jwt-tenant=t"}},
    {"--backup-dir", {"--backups-kept=3"}}};

  for (const auto& [needed, flags] : useless) {
    for (std::string flag : flags)
      EXPECT_EQ(
        refused({{"--data=d", "--dev", flag.c_str()}}),
        "codeq-coordinator: " + flag.substr(0, flag.find('=')) + " needs " + needed);
  }
}

TEST_F(CoordinatorFile, AnOptionThatWouldBeIgnoredIsNamedAsItWasGiven) {
  EXPECT_EQ(
    refused({{"--data=d", "--dev"}, {{"CODEQ_REPLICAS", "3"}}}),
    "codeq-coordinator: CODEQ_REPLICAS (environment) needs --cluster");
  auto file = write("data = \"d\"\nzone = \"a\"\n");
  EXPECT_EQ(
    refused({{"--dev", "--config", file.c_str()}}),
    "codeq-coordinator: zone in " + file + " needs --cluster");
}

TEST_F(CoordinatorFile, ValuesOfOptionsThatAreNotGivenNeedNoOthers) {
  auto file = write("data = \"d\"\ndev = true\nzone = \"\"\nwebhook-allow-private = false\n");

  auto config = accepted({{"--config", file.c_str()}, {{"CODEQ_REQUIRE_FENCING_TOKEN", "false"}}});

  EXPECT_FALSE(config.node.webhook_allow_private);
}

TEST(CoordinatorConfig, WhatAnOptionNeedsMayBeGivenElsewhere) {
  auto config = accepted(
    {{"--data=d", "--dev", "--replicas=3"},
     {{"CODEQ_CLUSTER", "c"}, {"CODEQ_ETCD", "http://127.0.0.1:2379"}}});

  EXPECT_EQ(config.node.cluster.name, "c");
  EXPECT_EQ(config.node.cluster.replicas, 3u);
}

TEST(CoordinatorConfig, WhatIsNoOriginIsRefused) {
  for (const char* text :
       {"app.example",
        "https://app.example/",
        "ftp://app.example",
        "https://",
        "https://a:0",
        "**"})
    EXPECT_EQ(
      refused({{"--data=d", "--dev", "--cors-origin", text}}),
      "codeq-coordinator: --cors-origin: `" + std::string(text)
        + "` is not the origin of web pages; write * or for example https://app.example");
}

} // namespace codeq::config
