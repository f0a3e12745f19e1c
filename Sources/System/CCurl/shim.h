#pragma once
#include <curl/curl.h>

// curl_easy_setopt and curl_easy_getinfo are variadic, which Swift does not import.
static inline CURLcode coffer_curl_set_long(CURL *handle, CURLoption option, long value)
{
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode coffer_curl_set_size(CURL *handle, CURLoption option, curl_off_t value)
{
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode coffer_curl_set_pointer(CURL *handle, CURLoption option, const void *value)
{
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode coffer_curl_set_receiver(
    CURL *handle, CURLoption option, size_t (*receiver)(char *, size_t, size_t, void *))
{
  return curl_easy_setopt(handle, option, receiver);
}

static inline CURLcode coffer_curl_set_seeker(
    CURL *handle, int (*seeker)(void *, curl_off_t, int))
{
  return curl_easy_setopt(handle, CURLOPT_SEEKFUNCTION, seeker);
}

static inline CURLcode coffer_curl_get_long(CURL *handle, CURLINFO info, long *value)
{
  return curl_easy_getinfo(handle, info, value);
}

// A cast macro.
static inline CURLcode coffer_curl_global_init(void) { return curl_global_init(CURL_GLOBAL_ALL); }
