const dayMs = 24 * 60 * 60 * 1000

/** How long the certificates that this product issues are valid. */
export const authorityMs = 3650 * dayMs
export const leafMs = 365 * dayMs
/** Maximum difference between the clocks of two machines. */
export const clockSkewMs = 5 * 60 * 1000
/**
 * How long before its issue a renewed certificate is valid, at most. It stays valid when the clock
 * of this machine was a year ahead and is set right. Some clients refuse certificates that are
 * valid for more than 825 days.
 */
export const backdateMsMax = leafMs + clockSkewMs
