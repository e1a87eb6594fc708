! tithe.f90 - Tithe from Fortran: groups of ranks and exchanges. What the functions do is in the headers that are named here.
!
! A module file fits one compiler only, so this one is compiled with the program:
!
!     gfortran $(pkg-config --variable=includedir tithe)/tithe/tithe.f90 program.f90 $(pkg-config --libs tithe_zmq)
!
! Groups and exchanges are pointers. A text ends with c_null_char: 'codec=topk:keep=0.01' // c_null_char. A function returns 0
! when all went well, otherwise tithe_error_text(error) is one sentence that says what to do. Results are intent(inout), since a
! function that fails leaves them as they were.

module tithe
  use, intrinsic :: iso_c_binding
  implicit none
  public

  type, bind(C) :: tithe_error           ! status.h
     integer(c_int) :: code = 0
     integer(c_size_t) :: position = 0
     character(kind=c_char) :: text(240) = c_null_char
  end type

  ! with on-nonfinite=skip: the step was skipped on all ranks, and the update is NaN (exchange.h)
  integer(c_int), parameter :: TITHE_E_SKIPPED = 15

  ! ---- groups of ranks: comm.h, transport.h, serve.h ----------------------------------------------------------------

  interface
     integer(c_int) function tithe_comm_local(size, comm, error) bind(C)
       import
       integer(c_int), value :: size
       type(c_ptr), intent(inout) :: comm
       type(tithe_error), intent(inout) :: error
     end function

     ! mpi_fint: comm of `use mpi`, comm%MPI_VAL of `use mpi_f08`
     integer(c_int) function tithe_comm_mpi_fortran(mpi_fint, comm, error) bind(C)
       import
       integer(c_int), intent(in) :: mpi_fint
       type(c_ptr), intent(inout) :: comm
       type(tithe_error), intent(inout) :: error
     end function

     integer(c_int) function tithe_comm_zmq_open(text, comm, error) bind(C)
       import
       character(kind=c_char), intent(in) :: text(*)
       type(c_ptr), intent(inout) :: comm
       type(tithe_error), intent(inout) :: error
     end function

     subroutine tithe_comm_free(comm) bind(C)
       import
       type(c_ptr), value :: comm
     end subroutine

     integer(c_int) function tithe_comm_size(comm) bind(C)
       import
       type(c_ptr), value :: comm
     end function

     integer(c_int) function tithe_comm_rank(comm) bind(C)
       import
       type(c_ptr), value :: comm
     end function

     integer(c_int) function tithe_comm_local_ranks(comm) bind(C)
       import
       type(c_ptr), value :: comm
     end function

     integer(c_int64_t) function tithe_comm_sent_bytes(comm) bind(C)
       import
       type(c_ptr), value :: comm
     end function

     integer(c_int64_t) function tithe_comm_sent_messages(comm) bind(C)
       import
       type(c_ptr), value :: comm
     end function

     subroutine tithe_comm_set_timeout(comm, seconds) bind(C)
       import
       type(c_ptr), value :: comm
       real(c_double), value :: seconds
     end subroutine

     subroutine tithe_comm_give_up(comm, why) bind(C)
       import
       type(c_ptr), value :: comm
       character(kind=c_char), intent(in) :: why(*)
     end subroutine

     integer(c_int) function tithe_serve(comm, error) bind(C)
       import
       type(c_ptr), value :: comm
       type(tithe_error), intent(inout) :: error
     end function
  end interface

  ! ---- exchanges: exchange.h. Ranks, lanes and layers are counted from 0 ----------------------------------------------

  interface
     integer(c_int) function tithe_exchange_open(comm, options, n, ex, error) bind(C)
       import
       type(c_ptr), value :: comm
       character(kind=c_char), intent(in) :: options(*)
       integer(c_size_t), value :: n
       type(c_ptr), intent(inout) :: ex
       type(tithe_error), intent(inout) :: error
     end function

     integer(c_int) function tithe_exchange_open_layers(comm, options, layers, layer_count, ex, error) bind(C)
       import
       type(c_ptr), value :: comm
       character(kind=c_char), intent(in) :: options(*)
       integer(c_size_t), intent(in) :: layers(*)
       integer(c_size_t), value :: layer_count
       type(c_ptr), intent(inout) :: ex
       type(tithe_error), intent(inout) :: error
     end function

     subroutine tithe_exchange_free(ex) bind(C)
       import
       type(c_ptr), value :: ex
     end subroutine

     integer(c_int) function tithe_exchange_switch(ex, collective, error) bind(C)
       import
       type(c_ptr), value :: ex
       character(kind=c_char), intent(in) :: collective(*)
       type(tithe_error), intent(inout) :: error
     end function

     integer(c_int) function tithe_exchange_step(ex, g, gamma, error) bind(C)
       import
       type(c_ptr), value :: ex
       real(c_float), intent(inout) :: g(*)
       real(c_double), value :: gamma
       type(tithe_error), intent(inout) :: error
     end function

     integer(c_int) function tithe_exchange_put(ex, rank, lane, g, gamma, error) bind(C)
       import
       type(c_ptr), value :: ex
       integer(c_int), value :: rank, lane
       real(c_float), intent(in) :: g(*)
       real(c_double), value :: gamma
       type(tithe_error), intent(inout) :: error
     end function

     integer(c_int) function tithe_exchange_put_layer(ex, rank, lane, layer, g, gamma, error) bind(C)
       import
       type(c_ptr), value :: ex
       integer(c_int), value :: rank, lane
       integer(c_size_t), value :: layer
       real(c_float), intent(in) :: g(*)
       real(c_double), value :: gamma
       type(tithe_error), intent(inout) :: error
     end function

     integer(c_int) function tithe_exchange_skip(ex, rank, gamma, error) bind(C)
       import
       type(c_ptr), value :: ex
       integer(c_int), value :: rank
       real(c_double), value :: gamma
       type(tithe_error), intent(inout) :: error
     end function

     integer(c_int) function tithe_exchange_finish(ex, update, error) bind(C)
       import
       type(c_ptr), value :: ex
       real(c_float), intent(inout) :: update(*)
       type(tithe_error), intent(inout) :: error
     end function
  end interface

contains

  function tithe_error_text(error) result(text)
    type(tithe_error), intent(in) :: error
    character(len=:), allocatable :: text
    integer :: i
    text = ''
    do i = 1, size(error%text)
       if (error%text(i) == c_null_char) exit
       text = text // error%text(i)
    end do
  end function
end module
