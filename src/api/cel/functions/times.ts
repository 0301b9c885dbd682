import type { CelType } from '../types.ts'
import { celInt } from '../types.ts'
import type { LocalTime } from '../values/time-zone.ts'
import { localTime } from '../values/time-zone.ts'
import type { CelDuration } from '../values/value.ts'
import { CelFailure } from '../values/value.ts'
import type { FunctionEntry, Overload } from './overload.ts'
import { call1, call2, method } from './overload.ts'
import { aDuration, aString, aTimestamp } from './params.ts'

const result: CelType = celInt

/** Parts of timestamps, in UTC or a time zone, and durations in whole units. */
export const times: readonly FunctionEntry[] = [
  ['getFullYear', ...inZones(({ year }) => year)],
  ['getMonth', ...inZones(({ month }) => month - 1)],
  ['getDayOfYear', ...inZones(({ dayOfYear }) => dayOfYear)],
  ['getDate', ...inZones(({ day }) => day)],
  ['getDayOfMonth', ...inZones(({ day }) => day - 1)],
  ['getDayOfWeek', ...inZones(({ dayOfWeek }) => dayOfWeek)],
  ['getHours', ...inZones(({ hours }) => hours), whole(3_600_000_000_000n)],
  ['getMinutes', ...inZones(({ minutes }) => minutes), whole(60_000_000_000n)],
  ['getSeconds', ...inZones(({ seconds }) => seconds), whole(1_000_000_000n)],
  [
    'getMilliseconds',
    ...inZones(({ nanos }) => Math.floor(nanos / 1_000_000)),
    // The part below a second only, unlike the others.
    method(call1(aDuration, result, ({ nanos }) => (nanos % 1_000_000_000n) / 1_000_000n)),
  ],
]

function inZones(part: (time: LocalTime) => number): readonly Overload[] {
  return [
    method(
      call1(aTimestamp, result, ({ nanos }, evaluation) => {
        const time = localTime(nanos, 'UTC', evaluation)
        return time instanceof CelFailure ? time : BigInt(part(time))
      }),
    ),
    method(
      call2(aTimestamp, aString, result, ({ nanos }, zone, evaluation) => {
        const time = localTime(nanos, zone, evaluation)
        return time instanceof CelFailure ? time : BigInt(part(time))
      }),
    ),
  ]
}

function whole(unit: bigint): Overload {
  return method(call1(aDuration, result, ({ nanos }: CelDuration) => nanos / unit))
}
