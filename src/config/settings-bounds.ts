import { durationText, sizeText } from './flag.ts'
import { limits } from './limits.ts'

export type Bounds = { readonly min: number; readonly max: number }

const hourMs = 3_600_000
const MiB = 1024 * 1024

/** What the replicated settings may be, at the creation of a cluster and when they are changed. Both ends belong to it. */
export const settingsBounds = Object.freeze({
  /** A watch must be able to come back after a short pause. */
  historyWindowMs: { min: 1000, max: 24 * hourMs },
  historyEventsMin: { min: 0, max: 10_000_000 },
  /** No larger than a request; no smaller than what every cluster begins with. */
  objectBytesMax: { min: 16 * 1024, max: limits.requestBytesMax },
  /** One large object and its history at least; at most more than any machine's memory. */
  storageBytesMax: { min: 16 * MiB, max: 16 * 1024 * 1024 * MiB },
  /** 1: on. */
  leaseReads: { min: 0, max: 1 },
})

export type SettingName = keyof typeof settingsBounds

export const settingNames: readonly SettingName[] = Object.freeze([
  'storageBytesMax',
  'objectBytesMax',
  'historyWindowMs',
  'historyEventsMin',
  'leaseReads',
])

const textOf: Readonly<Record<SettingName, (value: number) => string>> = {
  historyWindowMs: durationText,
  historyEventsMin: String,
  objectBytesMax: sizeText,
  storageBytesMax: sizeText,
  leaseReads: (value) => (value === 1 ? 'on' : 'off'),
}

/** `8Gi`, `5m`, `1000`, `on`: as the flags take it. */
export function settingText(name: SettingName, value: number): string {
  return textOf[name](value)
}
