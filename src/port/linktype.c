/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linktype: the numbers of link types in capture files. Source: the registry at
 * https://www.tcpdump.org/linktypes.html; 12 and 14 are what some systems wrote for RAW. The names
 * serve messages only, so the table has what captures are likely to be of. Pure functions.
 */
#include "port/capture.h"

#define LINKTYPES(X)                                                                               \
	X(0, "NULL", LINK_NULL)                                                                    \
	X(1, "EN10MB", LINK_EN10MB)                                                                \
	X(3, "AX25", -1)                                                                           \
	X(6, "IEEE802_5", -1)                                                                      \
	X(7, "ARCNET_BSD", -1)                                                                     \
	X(8, "SLIP", -1)                                                                           \
	X(9, "PPP", -1)                                                                            \
	X(10, "FDDI", -1)                                                                          \
	X(12, "RAW", LINK_RAW)                                                                     \
	X(14, "RAW", LINK_RAW)                                                                     \
	X(50, "PPP_HDLC", -1)                                                                      \
	X(51, "PPP_ETHER", -1)                                                                     \
	X(99, "SYMANTEC_FIREWALL", -1)                                                             \
	X(100, "ATM_RFC1483", -1)                                                                  \
	X(101, "RAW", LINK_RAW)                                                                    \
	X(104, "C_HDLC", -1)                                                                       \
	X(105, "IEEE802_11", -1)                                                                   \
	X(107, "FRELAY", -1)                                                                       \
	X(108, "LOOP", LINK_LOOP)                                                                  \
	X(113, "LINUX_SLL", LINK_SLL)                                                              \
	X(114, "LTALK", -1)                                                                        \
	X(117, "PFLOG", -1)                                                                        \
	X(119, "IEEE802_11_PRISM", -1)                                                             \
	X(122, "IP_OVER_FC", -1)                                                                   \
	X(123, "SUNATM", -1)                                                                       \
	X(127, "IEEE802_11_RADIOTAP", -1)                                                          \
	X(129, "ARCNET_LINUX", -1)                                                                 \
	X(132, "JUNIPER_ES", -1)                                                                   \
	X(137, "JUNIPER_ATM1", -1)                                                                 \
	X(138, "APPLE_IP_OVER_IEEE1394", -1)                                                       \
	X(139, "MTP2_WITH_PHDR", -1)                                                               \
	X(140, "MTP2", -1)                                                                         \
	X(141, "MTP3", -1)                                                                         \
	X(143, "DOCSIS", -1)                                                                       \
	X(147, "USER0", -1)                                                                        \
	X(149, "USER2", -1)                                                                        \
	X(163, "IEEE802_11_AVS", -1)                                                               \
	X(164, "JUNIPER_MONITOR", -1)                                                              \
	X(165, "BACNET_MS_TP", -1)                                                                 \
	X(166, "PPP_PPPD", -1)                                                                     \
	X(178, "JUNIPER_ETHER", -1)                                                                \
	X(182, "JUNIPER_FRELAY", -1)                                                               \
	X(187, "BLUETOOTH_HCI_H4", -1)                                                             \
	X(189, "USB_LINUX", -1)                                                                    \
	X(192, "PPI", -1)                                                                          \
	X(195, "IEEE802_15_4_WITHFCS", -1)                                                         \
	X(201, "BLUETOOTH_HCI_H4_WITH_PHDR", -1)                                                   \
	X(220, "USB_LINUX_MMAPPED", -1)                                                            \
	X(226, "IPNET", -1)                                                                        \
	X(227, "CAN_SOCKETCAN", -1)                                                                \
	X(228, "IPV4", LINK_RAW)                                                                   \
	X(229, "IPV6", LINK_RAW)                                                                   \
	X(230, "IEEE802_15_4_NOFCS", -1)                                                           \
	X(239, "NFLOG", -1)                                                                        \
	X(242, "IPOIB", -1)                                                                        \
	X(249, "USBPCAP", -1)                                                                      \
	X(251, "BLUETOOTH_LE_LL", -1)                                                              \
	X(253, "NETLINK", -1)                                                                      \
	X(266, "OPENFLOW", -1)                                                                     \
	X(274, "ETHERNET_MPACKET", -1)                                                             \
	X(276, "LINUX_SLL2", LINK_SLL2)                                                            \
	X(281, "DSA_TAG_BRCM", -1)                                                                 \
	X(282, "DSA_TAG_BRCM_PREPEND", -1)                                                         \
	X(283, "IEEE802_15_4_TAP", -1)                                                             \
	X(284, "DSA_TAG_DSA", -1)

const char *linktype_name(uint32_t linktype)
{
	switch (linktype) {
#define X(number, name, link)                                                                      \
	case number:                                                                               \
		return name;
		LINKTYPES(X)
#undef X
	}
	return NULL;
}

int linktype_link(uint32_t linktype)
{
	switch (linktype) {
#define X(number, name, link)                                                                      \
	case number:                                                                               \
		return link;
		LINKTYPES(X)
#undef X
	}
	return -1;
}
