#pragma once
#include <microhttpd.h>
#include <sys/eventfd.h>

// MHD_start_daemon is variadic, which Swift does not import. The daemon has neither a listening
// socket nor a thread: whoever runs it feeds it by MHD_add_connection.
static inline struct MHD_Daemon *
coffer_mhd_start(MHD_AccessHandlerCallback handler,
                 void *(*target)(void *, const char *, struct MHD_Connection *),
                 MHD_RequestCompletedCallback completed,
                 MHD_NotifyConnectionCallback connection,
                 void *context, unsigned int connection_count_max, size_t memory_byte_count)
{
  return MHD_start_daemon(
      MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET,
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
