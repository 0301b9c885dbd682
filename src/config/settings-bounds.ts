import { durationText, sizeText } from './flag.ts'
import { limits } from './limits.ts'

export type Bounds = { readonly min: number; readonly max: number }

const hourMs = 3_600_000
const MiB = 1024 * 1024

/** Bounds of the replicated settings, inclusive, at the creation of a cluster and for changes. */
export const settingsBounds = Object.freeze({
  /** A watch must be able to resume after a short interruption. */
  historyWindowMs: { min: 1000, max: 24 * hourMs },
  historyEventsMin: { min: 0, max: 10_000_000 },
  /** At most a request body; at least the largest object that every cluster creates. */
  objectBytesMax: { min: 16 * 1024, max: limits.requestBytesMax },
  /**
   * The minimum holds one large object with its history; the maximum exceeds the memory of common
   * machines.
   */
  storageBytesMax: { min: 16 * MiB, max: 16 * 1024 * 1024 * MiB },
  /** 1: on. */
  leaseReads: { min: 0, max: 1 },
  /** At least a few elections with the default timeout. */
  staleAccessMs: { min: 5000, max: 24 * hourMs },
})

export type SettingName = keyof typeof settingsBounds

export const settingNames: readonly SettingName[] = Object.freeze([
  'storageBytesMax',
  'objectBytesMax',
  'historyWindowMs',
  'historyEventsMin',
  'leaseReads',
  'staleAccessMs',
])

const textOf: Readonly<Record<SettingName, (value: number) => string>> = {
  historyWindowMs: durationText,
  historyEventsMin: String,
  objectBytesMax: sizeText,
  storageBytesMax: sizeText,
  leaseReads: (value) => (value === 1 ? 'on' : 'off'),
  staleAccessMs: durationText,
}

/** `8Gi`, `5m`, `1000`, `on`: the form that the flags accept. */
export function settingText(name: SettingName, value: number): string {
  return textOf[name](value)
}
