import { assertNever } from '../../../base/assert.ts'
import { answerLogs } from './answer-logs.ts'
import { answerProxy } from './answer-proxy.ts'
import { answerStreams } from './answer-streams.ts'
import type { ConnectDependencies, Connection } from './connection.ts'

/** Answers a request to a subresource that connects. @throws ApiError */
export function answerConnection(connection: Connection, dependencies: ConnectDependencies): Promise<void> {
  const { connects } = connection.subresource
  switch (connects) {
    case 'log':
      return answerLogs(connection, dependencies)
    case 'exec':
    case 'attach':
    case 'portforward':
      return answerStreams(connects, connection, dependencies)
    case 'proxy':
      return answerProxy(connection, dependencies)
    default:
      return assertNever(connects)
  }
}
