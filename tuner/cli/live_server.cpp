#include "tuner/cli/live_server.h"

#include "tuner/cli/random_id.h"
#include "tuner/core/error.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <utility>

namespace smemtune::cli {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::beast::error_code;

namespace {

// Timeout for a request, and for taking its answer.
constexpr auto kPatience = std::chrono::seconds(10);
constexpr std::uint32_t kHeaderBytes = 8192;
constexpr std::size_t kConnections = 32;

using Request = http::request<http::empty_body>;
using Response = http::response<http::string_body>;

}  // namespace

struct LiveServer::State {
  class Connection;

  explicit State(std::uint16_t port)
      : acceptor(context, tcp::endpoint(asio::ip::address_v4::loopback(), port)),
        host("127.0.0.1:" + std::to_string(acceptor.local_endpoint().port())) {
    accept();
  }

  void accept();
  Response answer(const Request& request);

  asio::io_context context{1};
  tcp::acceptor acceptor;
  std::string host;
  std::string path = "/" + random_id() + "/";
  std::string page;
  std::string data;
  std::uint64_t version = 0;
  std::uint64_t taken = 0;
  std::size_t connections = 0;
};

/// A connection that handles one request and its answer.
class LiveServer::State::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(State& state, tcp::socket socket) : state_(state), stream_(std::move(socket)) {
    ++state_.connections;
    parser_.header_limit(kHeaderBytes);
    parser_.body_limit(std::uint64_t{0});
  }
  ~Connection() { --state_.connections; }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void start() {
    stream_.expires_after(kPatience);
    http::async_read_header(stream_, buffer_, parser_,
                            [self = shared_from_this()](error_code error, std::size_t) {
                              if (!error) self->write();
                            });
  }

 private:
  void write() {
    response_ = state_.answer(parser_.get());
    stream_.expires_after(kPatience);
    http::async_write(stream_, response_, [self = shared_from_this()](error_code, std::size_t) {
      error_code ignored;
      self->stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    });
  }

  State& state_;
  boost::beast::tcp_stream stream_;
  boost::beast::flat_buffer buffer_;
  http::request_parser<http::empty_body> parser_;
  Response response_;
};

void LiveServer::State::accept() {
  acceptor.async_accept([this](error_code error, tcp::socket socket) {
    if (!error && connections < kConnections) {
      std::make_shared<Connection>(*this, std::move(socket))->start();
    }
    if (acceptor.is_open()) accept();
  });
}

Response LiveServer::State::answer(const Request& request) {
  Response response(http::status::ok, 11);
  response.keep_alive(false);
  response.set(http::field::cache_control, "no-store");
  response.set(http::field::content_type, "text/plain; charset=utf-8");
  response.set("X-Content-Type-Options", "nosniff");
  response.set("X-Frame-Options", "DENY");
  response.set("Referrer-Policy", "no-referrer");
  response.set("Cross-Origin-Resource-Policy", "same-origin");
  const auto refuse = [&](http::status status, const char* why) {
    response.result(status);
    response.body() = why;
  };
  const std::string target(request.target());
  if (request.method() != http::verb::get) {
    refuse(http::status::method_not_allowed, "only GET\n");
    response.set(http::field::allow, "GET");
  } else if (request[http::field::host] != host) {
    refuse(http::status::forbidden, "not this host\n");
  } else if (target == path) {
    response.set(http::field::content_type, "text/html; charset=utf-8");
    response.body() = page;
    ++taken;
  } else if (target == path + "data/" + std::to_string(version)) {
    response.result(http::status::no_content);
  } else if (target.starts_with(path + "data/")) {
    response.set(http::field::content_type, "application/json");
    response.body() = data;
    ++taken;
  } else {
    refuse(http::status::not_found, "nothing here\n");
  }
  response.prepare_payload();
  return response;
}

LiveServer::LiveServer(std::uint16_t port) {
  try {
    state_ = std::make_unique<State>(port);
  } catch (const boost::system::system_error& error) {
    throw UnavailableError("127.0.0.1 port " + std::to_string(port) + ": " +
                           error.code().message());
  }
}

LiveServer::~LiveServer() = default;

std::string LiveServer::url() const { return "http://" + state_->host + state_->path; }

void LiveServer::show(std::string page, std::string data, std::uint64_t version) {
  state_->page = std::move(page);
  state_->data = std::move(data);
  state_->version = version;
  state_->taken = 0;
}

void LiveServer::serve_for(std::chrono::milliseconds time) {
  state_->context.restart();
  state_->context.run_for(time);
}

std::uint64_t LiveServer::taken() const { return state_->taken; }

}  // namespace smemtune::cli
