const dayMs = 24 * 60 * 60 * 1000

/** How long the certificates that this product issues are valid. */
export const authorityMs = 3650 * dayMs
export const leafMs = 365 * dayMs
/** Maximum difference between the clocks of two machines. */
export const clockSkewMs = 5 * 60 * 1000
/**
 * The maximum by which a renewed certificate is backdated. If the clock of this machine was up to a
 * year ahead at the renewal, the certificate is still valid after the clock is corrected. Some
 * clients reject certificates that are valid for more than 825 days.
 */
export const backdateMsMax = leafMs + clockSkewMs
