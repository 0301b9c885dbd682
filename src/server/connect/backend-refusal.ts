import type { IncomingMessage } from 'node:http'
import type { Clock } from '../../../base/clock.ts'
import { ApiError } from '../../api/errors/api-error.ts'
import type { ApiErrorReason } from '../../api/errors/api-error.ts'
import { badRequest, internal } from '../../api/errors/standard-errors.ts'
import { limits } from '../../config/limits.ts'

/**
 * Returns the beginning of a response that is not passed on as a stream, and closes its connection.
 * Never rejects.
 */
export function bodyOf(response: IncomingMessage, clock: Pick<Clock, 'after'>): Promise<Buffer> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let left: number = limits.backendErrorBytesMax
    const end = (): void => {
      timer.cancel()
      response.destroy()
      resolve(Buffer.concat(chunks))
    }
    const timer = clock.after(limits.backendErrorMsMax, end)
    response.on('data', (chunk: Buffer) => {
      chunks.push(chunk.subarray(0, left))
      left -= chunk.byteLength
      if (left < 0) end()
    })
    response.once('end', end)
    response.once('close', end)
  })
}

/**
 * Returns the error for a response of a node agent that refuses logs.
 *
 * @param name of the Pod
 * @source apiserver `pkg/registry/generic/rest/response_checker.go`; apimachinery `pkg/api/errors`,
 * NewGenericServerResponse
 */
export function refusedLogs(status: number, text: string, name: string): ApiError {
  if (status === 500) return internal(text)
  if (status === 400) return badRequest(text)
  const [reason, words] = genericWords(status, text)
  const message = `${words} ( pods/log ${name})`
  return new ApiError(reason, message, { name, kind: 'pods/log', chosen: { code: codeOf(status), reason } })
}

/**
 * Returns the code for the caller: 500 for a response that is not an error, such as a redirect,
 * which is not followed.
 */
function codeOf(status: number): number {
  return status >= 400 && status <= 599 ? status : 500
}

function genericWords(status: number, text: string): readonly [ApiErrorReason, string] {
  switch (status) {
    case 401:
      return ['Unauthorized', 'the server has asked for the client to provide credentials']
    case 403:
      return ['Forbidden', text]
    case 404:
      return ['NotFound', 'the server could not find the requested resource']
    case 429:
      return [
        'TooManyRequests',
        'the server has received too many requests and has asked us to try again later',
      ]
    case 503:
      return ['ServiceUnavailable', 'the server is currently unable to handle the request']
    default:
      if (status >= 500) {
        const shown = JSON.stringify(text)
        return [
          'InternalError',
          `an error on the server (${shown}) has prevented the request from succeeding`,
        ]
      }
      return [
        'InternalError',
        `the server responded with the status code ${status} but did not return more information`,
      ]
  }
}
