/*
 * Goal: the transports of tests behave like the transport between machines.
 * Method: one suite for all, and one for calls on those that carry them.
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
