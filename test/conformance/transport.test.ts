/*
 * Goal: the transports of tests behave like the transport between machines.
 * Method: one suite for all transports, and one for connections before the first message, for the
 * transports that open them.
 */
import { MemoryNetwork } from '../../raft/transport/memory-transport.ts'
import { grpcHarness, memoryHarness } from '../unit/raft/transport/fixtures.ts'
import { simulatedHarness } from './simulated.ts'
import { callsConformance } from './transport-calls.ts'
import { transportConformance } from './transport.ts'

transportConformance('memory', () => memoryHarness(new MemoryNetwork()))
transportConformance('grpc', () => grpcHarness())
transportConformance('simulated', () => simulatedHarness())

callsConformance('grpc', () => grpcHarness())
callsConformance('simulated', () => simulatedHarness())
