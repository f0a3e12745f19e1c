#pragma once
#include <microhttpd.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

// MHD_start_daemon is variadic, which Swift does not import. The daemon has neither a listening
// socket nor a thread: whoever runs it feeds it by MHD_add_connection.
//
// With MHD_USE_TURBO the library closes a socket without shutdown(2) before it. So a connection that was handed over
// lives on in its other descriptor. A new connection is also read at once, without waiting for epoll.
static inline struct MHD_Daemon *
coffer_mhd_start(MHD_AccessHandlerCallback handler,
                 void *(*target)(void *, const char *, struct MHD_Connection *),
                 MHD_RequestCompletedCallback completed,
                 MHD_NotifyConnectionCallback connection,
                 void *context, unsigned int connection_count_max, size_t memory_byte_count)
{
  return MHD_start_daemon(
      MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET
          | MHD_USE_TURBO,
      0, NULL, NULL, handler, context,
      MHD_OPTION_URI_LOG_CALLBACK, target, context,
      MHD_OPTION_NOTIFY_COMPLETED, completed, context,
      MHD_OPTION_NOTIFY_CONNECTION, connection, context,
      MHD_OPTION_CONNECTION_LIMIT, connection_count_max,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, memory_byte_count,
      MHD_OPTION_CONNECTION_TIMEOUT, 0u,
      MHD_OPTION_STRICT_FOR_CLIENT, 1,
      // Else files are read and sent 4096 bytes at a time, not by sendfile.
      MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
      MHD_OPTION_END);
}

// What becomes readable when the daemon has something to do; MHD_get_daemon_info is variadic.
static inline int coffer_mhd_descriptor(struct MHD_Daemon *daemon)
{
  return MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
}

// Milliseconds until the daemon has something to do of itself; -1 for never.
static inline int coffer_mhd_timeout(struct MHD_Daemon *daemon)
{
  MHD_UNSIGNED_LONG_LONG timeout;
  if (MHD_get_timeout(daemon, &timeout) != MHD_YES) return -1;
  return timeout > 60000 ? 60000 : (int) timeout;
}

// MHD_get_connection_info is variadic, too.
static inline const union MHD_ConnectionInfo *
coffer_mhd_info(struct MHD_Connection *connection, enum MHD_ConnectionInfoType type)
{
  return MHD_get_connection_info(connection, type);
}

// struct epoll_event is packed on some machines, which Swift does not lay out. EPOLLHUP and EPOLLERR are always watched.
static inline int coffer_epoll_set(int epoll, int operation, int socket, int wants_room)
{
  struct epoll_event event = { 0 };
  event.events = EPOLLRDHUP | (wants_room ? EPOLLOUT : 0);
  event.data.fd = socket;
  return epoll_ctl(epoll, operation, socket, &event);
}

// What epoll_wait says of a socket.
struct coffer_epoll_news {
  int socket;
  int is_gone;
};

#define COFFER_EPOLL_COUNT_MAX 64

static inline int coffer_epoll_wait(int epoll, struct coffer_epoll_news *news, int milliseconds)
{
  struct epoll_event events[COFFER_EPOLL_COUNT_MAX];
  int count = epoll_wait(epoll, events, COFFER_EPOLL_COUNT_MAX, milliseconds);
  for (int i = 0; i < count; i++) {
    news[i].socket = events[i].data.fd;
    news[i].is_gone = (events[i].events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
  }
  return count;
}

// The bell: readable once rung. It is watched like a socket, but for input.
static inline int coffer_epoll_add_bell(int epoll, int bell)
{
  struct epoll_event event = { 0 };
  event.events = EPOLLIN;
  event.data.fd = bell;
  return epoll_ctl(epoll, EPOLL_CTL_ADD, bell, &event);
}
