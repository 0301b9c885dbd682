import type { Clock } from '../../base/clock.ts'
import { limits } from '../config/limits.ts'
import { RenewedCredentials } from './renewed-credentials.ts'
import { readSmallFile } from './small-file.ts'

/**
 * Returns the value of the `Authorization` header with a bearer token in a file. While the file is
 * missing or unusable the last token stays in use.
 *
 * @param header the value with the token that the file has now
 * @source client-go `transport/token_source.go`
 */
export function tokenFile(path: string, header: string, clock: Clock): RenewedCredentials<string> {
  return new RenewedCredentials(clock, header, async (current) => {
    const token = await tokenIn(path)
    return token === null ? current : `Bearer ${token}`
  })
}

/** Returns null unless the file holds a token that fits a header. */
async function tokenIn(path: string): Promise<string | null> {
  const text = await readSmallFile(path, limits.outwardTokenBytesMax)
  const token = text?.trim() ?? ''
  return /^[\x21-\x7e]+$/.test(token) ? token : null
}
