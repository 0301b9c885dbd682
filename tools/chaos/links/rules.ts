/** Rule for the bytes from one member to another. */
export type LinkRule = {
  readonly from: string
  readonly to: string
  /** Neither bytes nor the end of a connection pass. */
  readonly cut: boolean
  /** Delay in ms, randomized up to 1.5 times as much. */
  readonly delayMs: number
  /** Percentage of chunks that wait for a retransmission, 0 to 100. */
  readonly lossPercent: number
}

export type LinkState = Omit<LinkRule, 'from' | 'to'>

const healthyLink: LinkState = Object.freeze({ cut: false, delayMs: 0, lossPercent: 0 })

/** Combines all rules of one direction. */
export function stateOf(rules: readonly LinkRule[], from: string, to: string): LinkState {
  return rules
    .filter((rule) => rule.from === from && rule.to === to)
    .reduce<LinkState>(
      (sum, { cut, delayMs, lossPercent }) => ({
        cut: sum.cut || cut,
        delayMs: sum.delayMs + delayMs,
        lossPercent: Math.min(100, sum.lossPercent + lossPercent),
      }),
      healthyLink,
    )
}

/**
 * Returns rules for every pair of `some` and `others`.
 *
 * @param direction relative to `some`: `to` and `from` give one rule per pair, `both` gives two
 */
export function between(
  some: readonly string[],
  others: readonly string[],
  state: Partial<LinkState>,
  direction: 'both' | 'to' | 'from' = 'both',
): readonly LinkRule[] {
  return some.flatMap((one) =>
    others.flatMap((other) => {
      const rule = { ...healthyLink, ...state }
      const inward = { from: other, to: one, ...rule }
      const outward = { from: one, to: other, ...rule }
      return [...(direction === 'from' ? [] : [inward]), ...(direction === 'to' ? [] : [outward])]
    }),
  )
}

/** Parses rules from the control socket. @returns null when they are malformed */
export function parseRules(value: unknown): readonly LinkRule[] | null {
  if (!Array.isArray(value)) return null
  const rules: LinkRule[] = []
  for (const one of value as readonly unknown[]) {
    if (typeof one !== 'object' || one === null) return null
    const { from, to, cut, delayMs, lossPercent } = one as Readonly<Record<string, unknown>>
    if (typeof from !== 'string' || typeof to !== 'string' || typeof cut !== 'boolean') return null
    if (!isWithin(delayMs, 60_000) || !isWithin(lossPercent, 100)) return null
    rules.push({ from, to, cut, delayMs, lossPercent })
  }
  return rules
}

function isWithin(value: unknown, max: number): value is number {
  return typeof value === 'number' && value >= 0 && value <= max
}
