! hello.f90 - a server and its workers over ZeroMQ: hello.c in Fortran, and each process may as well be that.
!
!     gfortran include/tithe/tithe.f90 examples/hello.f90 $(pkg-config --libs tithe_zmq) -o hello
!     ./hello 'listen=tcp://127.0.0.1:5555;workers=1' &
!     ./hello 'connect=tcp://127.0.0.1:5555;workers=1'

program hello
  use, intrinsic :: iso_fortran_env, only: error_unit
  use tithe
  implicit none
  integer, parameter :: n = 8
  character(len=400) :: group = '', options = 'codec=topk:keep=0.5;feedback=ec'
  type(c_ptr) :: comm = c_null_ptr, exchange = c_null_ptr
  type(tithe_error) :: error
  integer :: status, step, i
  real(c_float) :: g(n)

  call get_command_argument(1, group)
  if (command_argument_count() > 1) call get_command_argument(2, options)
  status = tithe_comm_zmq_open(trim(group) // c_null_char, comm, error)
  if (status == 0) then
     if (tithe_comm_local_ranks(comm) == 0) then
        status = tithe_serve(comm, error)
     else
        status = tithe_exchange_open(comm, trim(options) // c_null_char, int(n, c_size_t), exchange, error)
     end if
  end if
  do step = 1, 2
     if (status /= 0 .or. .not. c_associated(exchange)) exit
     g = 0
     if (step == 1) g = [(real((tithe_comm_rank(comm) + 1) * i, c_float), i = 1, n)]
     status = tithe_exchange_step(exchange, g, real(tithe_comm_size(comm), c_double), error)   ! size * mean = sum
     if (status == 0) print '(a, *(1x, g0))', 'sum:', g
  end do
  if (status /= 0) write (error_unit, '(2a)') 'hello: ', tithe_error_text(error)
  call tithe_exchange_free(exchange)
  call tithe_comm_free(comm)   ! whoever waits for this process hears why it ends
  if (status /= 0) stop 1, quiet=.true.
end program
