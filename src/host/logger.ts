import { pino } from 'pino'
import type { DestinationStream, Logger } from 'pino'
import { textLine } from './text-line.ts'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

/** Fields whose value is never logged, at the top or one level down. */
export const withheldFields: readonly string[] = [
  'authorization',
  'token',
  'secret',
  'password',
  'key',
  'privateKey',
  'cookie',
]

/** JSON lines, or text for people. */
export type LogFormat = 'json' | 'text'

/**
 * Creates a logger of events with fields.
 *
 * @param base fields of every line, such as the member's name
 * @param destination receives each line at once
 */
export function createLogger(options: {
  readonly level: LogLevel
  readonly format: LogFormat
  readonly base: Readonly<Record<string, unknown>>
  readonly destination: DestinationStream
}): Logger {
  const { destination } = options
  return pino(
    {
      level: options.level,
      base: options.base,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: {
        paths: [...withheldFields, ...withheldFields.map((name) => `*.${name}`)],
        censor: '[withheld]',
      },
      serializers: { err: pino.stdSerializers.err },
    },
    options.format === 'json' ? destination : { write: (line) => destination.write(textLine(line)) },
  )
}
