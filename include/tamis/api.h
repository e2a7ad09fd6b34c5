/* SPDX-License-Identifier: Apache-2.0 */
/* api: what every public header of libtamis needs. */
#ifndef TAMIS_PUBLIC_API_H
#define TAMIS_PUBLIC_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAMIS_API __attribute__((visibility("default")))

#ifdef __cplusplus
#define TAMIS_BEGIN extern "C" {
#define TAMIS_END   }
#else
#define TAMIS_BEGIN
#define TAMIS_END
#endif

#endif
