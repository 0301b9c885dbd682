/** Work that is pending on this member now. */
export type NodeLoad = {
  readonly proposals: number
  readonly proposalBytes: number
  readonly readers: number
  readonly applyLagEntries: number
}
